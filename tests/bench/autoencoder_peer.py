"""PyTorch's side of bench_autoencoder: autoencoder_peer.py FILE START LOOP THREADS SEED

The same rows, starting weights, network, batches, epochs and optimiser, with Debian's python3-torch.
LOOP: tensor    a shuffle and slices of it, which is the plainest loop there is; float32, PyTorch's default
      tensor64  the same in float64
      loader    DataLoader over a TensorDataset, as its tutorials do
"""
import json
import sys
import time

import numpy
import torch

COLUMNS, ROWS, BATCH, EPOCHS = 32, 10000, 100, 100


def network(path, dtype):
    with open(path) as file:
        layers = json.load(file)["layers"]
    modules = []
    for i, layer in enumerate(layers):
        biases = torch.tensor(layer["biases"], dtype=dtype)
        weights = torch.tensor(layer["weights"], dtype=dtype).reshape(-1, len(biases))
        linear = torch.nn.Linear(*weights.shape, dtype=dtype)
        with torch.no_grad():
            linear.weight.copy_(weights.T)
            linear.bias.copy_(biases)
        modules += [linear] if i + 1 == len(layers) else [linear, torch.nn.Tanh()]
    return torch.nn.Sequential(*modules)


def batches_of_tensor(rows):
    order = torch.randperm(len(rows))
    for start in range(0, len(rows), BATCH):
        yield rows[order[start:start + BATCH]]


def batches_of_loader(loader):
    for (batch,) in loader:
        yield batch


def main():
    if len(sys.argv) != 6:
        sys.exit("usage: autoencoder_peer.py FILE START tensor|tensor64|loader THREADS SEED")
    path, start, loop, threads, seed = sys.argv[1:]
    torch.set_num_threads(int(threads))
    torch.manual_seed(int(seed))
    dtype = torch.float64 if loop == "tensor64" else torch.float32
    data = torch.tensor(numpy.fromfile(path).reshape(-1, COLUMNS), dtype=dtype)
    rows, held = data[:ROWS].clone(), data[ROWS:].clone()
    model = network(start, dtype)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    loss_of = torch.nn.MSELoss()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(rows), batch_size=BATCH, shuffle=True)
    wall, cpu = time.monotonic(), time.process_time()
    for _ in range(EPOCHS):
        for batch in batches_of_loader(loader) if loop == "loader" else batches_of_tensor(rows):
            optimiser.zero_grad()
            loss = loss_of(model(batch), batch)
            loss.backward()
            optimiser.step()
    wall, cpu = time.monotonic() - wall, time.process_time() - cpu
    with torch.no_grad():
        lost = loss_of(model(held), held).item()
    print(json.dumps({"program": "PyTorch " + torch.__version__, "loop": loop, "fits": 1, "threads": int(threads), "wall_s": round(wall, 6),
                      "cpu_s": round(cpu, 6), "held_out": lost}, separators=(",", ":")))


main()
