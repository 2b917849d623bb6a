"""Reads a sample file (runs/inside/record/record.h), for tables."""
import struct

HEADER = struct.Struct("<8sIIIIIIQQQQQQQQ")
CHUNK = struct.Struct("<IIQQ")
SAMPLE = struct.Struct("<IIQQQIIII")
BRIEF = struct.Struct("<HBBHHQQQ")
NOT_COUNTED = 2**64 - 1
TOTAL = 4


class Samples:
    """infos {key: text}, counters [name], functions [name], calls {function: n}, items [(function, weight, duration, values)]."""

    def __init__(self, path):
        data = open(path, "rb").read()
        (magic, version, _, header_bytes, names_max, chunk_bytes, n_counters, _, _, _, _, names_bytes, chunks, _,
         self.finished) = HEADER.unpack_from(data)
        assert magic == b"assayrec" and version in (1, 2), path
        lines = data[header_bytes:header_bytes + names_bytes].decode().split("\n")
        self.counters = [line[2:] for line in lines if line.startswith("c ")]
        self.functions = [line.split(" ", 3)[3] for line in lines if line.startswith("f ")]
        self.infos = dict(line[2:].split(" ", 1) for line in lines if line.startswith("i "))
        self.items, self.calls = [], {}
        values = struct.Struct(f"<{n_counters}Q")
        for chunk in range(chunks):
            at = header_bytes + names_max + chunk * chunk_bytes
            n = CHUNK.unpack_from(data, at)[2]
            for i in range(n):
                place = at + CHUNK.size + i * (BRIEF.size if version == 2 else SAMPLE.size + values.size)
                if version == 2:
                    function, weight, flags, _, _, ordinal, _, duration = BRIEF.unpack_from(data, place)
                    weight = 1 << weight
                else:
                    function, weight, ordinal, _, duration, _, _, flags, _ = SAMPLE.unpack_from(data, place)
                name = self.functions[function]
                if flags & TOTAL:
                    self.calls[name] = self.calls.get(name, 0) + ordinal
                else:
                    self.items.append((name, weight, duration, values.unpack_from(data, place + SAMPLE.size)))

    def totals(self):
        """{counter without its family: value} of the process."""
        return {key.split(":")[-1]: int(text) for key, text in self.infos.items() if key.startswith("total:")}

    def of(self, function):
        """The sums over the samples of a function that were counted, and how many they are."""
        chosen = [values for name, _, _, values in self.items if name.split(".")[0] == function and NOT_COUNTED not in values]
        sums = [sum(column) for column in zip(*chosen)] or [0] * len(self.counters)
        return {counter.split(":")[-1]: value for counter, value in zip(self.counters, sums)}, len(chosen)
