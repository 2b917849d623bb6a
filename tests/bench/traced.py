"""The kernel's own trace, in an instance of its own; root alone may have one. And from it, exactly, for how long none of a command's threads
and processes had a processor: because others had all of them while one was ready, or because it waited."""
import os
import re
import subprocess
import tempfile

SCHEDULING = ("sched_switch", "sched_waking", "sched_wakeup", "sched_wakeup_new", "sched_stat_runtime")


class Instance:
    """events: {name below events/: filter or None}"""

    def __init__(self, events, clock="x86-tsc", kib=256 << 10):
        self.settings = [("trace_clock", clock), ("buffer_size_kb", str(kib)), ("tracing_on", "0")]
        for event, filtered in events.items():
            self.settings += ([(f"events/{event}/filter", filtered)] if filtered else []) + [(f"events/{event}/enable", "1")]

    def __enter__(self):
        self.mounted = tempfile.mkdtemp()
        subprocess.run(["mount", "-t", "tracefs", "none", self.mounted], check=True)
        self.at = tempfile.mkdtemp(prefix="assay-", dir=os.path.join(self.mounted, "instances"))
        for name, value in self.settings:
            self.put(name, value)
        return self

    def put(self, name, value):
        with open(os.path.join(self.at, name), "w", encoding="ascii") as file:
            file.write(value)

    def lines(self):
        with open(os.path.join(self.at, "trace"), encoding="latin1") as lines:
            yield from lines

    def __exit__(self, *_):
        self.put("tracing_on", "0")
        os.rmdir(self.at)
        subprocess.run(["umount", self.mounted], check=True)
        os.rmdir(self.mounted)


def possible():
    with open("/proc/filesystems", encoding="ascii") as systems:
        return os.geteuid() == 0 and "\ttracefs\n" in systems.read()


def scheduling(comm):
    """An instance for every task of that name, and for what processors do."""
    return Instance({f"sched/{event}": None if event == "sched_switch" else f'comm == "{comm}"' for event in SCHEDULING}, "mono")


def told(lines, comm):
    """(time in s, task, what becomes of it: "run", "ready", "off", "gone", "waking" (another one begins to wake it), "woken"); or of a processor,
    "idle" or "busy"; or the seconds that the kernel has just charged to a task that has a processor."""
    line_of = re.compile(r"\[(\d+)\] \S+ +([\d.]+): (sched_\w+): (.*)")
    switch_of = re.compile(r"prev_comm=(.*) prev_pid=(\d+) prev_prio=-?\d+ prev_state=(\S+) ==> next_comm=(.*) next_pid=(\d+)")
    for line in lines:
        found = line_of.search(line)
        if "LOST" in line:
            raise RuntimeError("the trace has lost events")
        if not found:
            continue
        at = float(found[2])
        switch = switch_of.match(found[4])
        if not switch:
            task = int(re.search(r" pid=(\d+)", " " + found[4])[1])
            charged = re.search(r" runtime=(\d+)", found[4])
            yield at, task, int(charged[1]) / 1e9 if charged else "waking" if found[3] == "sched_waking" else "woken"
            continue
        if switch[1] == comm:
            yield at, int(switch[2]), "ready" if switch[3].startswith("R") else "gone" if switch[3][0] in "XZ" else "off"
        yield at, ("processor", int(found[1])), "idle" if switch[5] == "0" else "busy"
        if switch[4] == comm:
            yield at, int(switch[5]), "run"


def events_of(lines, comm):
    """The same in the order of time, without "waking". That a task comes to a processor is when the kernel's accounts begin to charge it, as they
    say when it leaves: so nothing is both waiting and the processor's time. Some kernels (Linux 6.18) tell nothing of what a processor does while its
    idle task has it, and charge a new task from when it was made, while an idle processor wakes up for it."""
    states, waking, charged, events = {}, {}, {}, []
    for at, task, state in sorted(told(lines, comm), key=lambda event: event[0]):
        if isinstance(state, float):
            charged[task] = charged.get(task, 0) + state
            continue
        before = states.get(task)
        if state in ("waking", "woken"):
            waking[task] = at
        if state == "waking":
            continue
        if state in ("ready", "off", "gone") and task in charged:
            events.append((at - charged.pop(task), task, "run"))
        elif state in ("ready", "off", "gone") and before in ("off", "woken") and task in waking:
            events.append((waking[task], task, "run"))
        if state != "woken" or before != "run":  # else it had not gone to sleep yet
            states[task] = state
        if state != "woken":
            waking.pop(task, None)
        events.append((at, task, state))
    return sorted(events, key=lambda event: event[0])


def withheld(lines, comm, roots):
    """root -> (seconds in which none ran, one was ready and no processor idle, other seconds in which none ran). Roots come one after another:
    what happens from the first time that one of them is met until it is gone is its own."""
    states, idle, root, spent, before = {}, set(), None, {r: [0.0, 0.0] for r in roots}, None
    for at, task, state in events_of(lines, comm):
        if root is None and task in spent:
            root, states = task, {}
        elif root is not None and "run" not in states.values():
            spent[root]["ready" not in states.values() or bool(idle)] += at - before
        before = at
        if isinstance(task, tuple):
            (idle.add if state == "idle" else idle.discard)(task)
        elif root is None:
            continue
        elif state == "gone":
            states.pop(task, None)
        elif state != "woken":
            states[task] = state
        elif states.get(task) != "run":  # else it had not gone to sleep yet
            states[task] = "ready"
        if task == root and state == "gone":
            root = None
    return {r: tuple(s) for r, s in spent.items()}
