#!/usr/bin/env python3
"""Checks the model of a receipt's life (docs/model/) with Spin.

Guards: with the moves and rules of the product no interleaving of two gateways,
an upstream, recovery, probe, operator and crashes breaks a property; each rule
is needed (without it a property fails); no pass is an empty one (every named
place is reached); and a changed table changes the verdict.

    run.py            what the tests run
    run.py --all      larger worlds as well
    run.py --only B_  what has this in its name or flags
    run.py --markdown prints the table of docs/model/README.md

Needs spin and gcc. Time and memory of every run are bounded."""

import argparse
import concurrent.futures
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = os.path.join(HERE, "..", "..", "docs", "model")
JOBS = 2
DEPTH = 20000
MEMORY_MB = 1500
TIME_S = 300
COMPILE_S = 120

# Worlds in which nothing may fail. Together they reach every place.
WORLDS = [
    ("one life of the row", ""),
    ("the upstream knows our key, forced verdicts", "-DDEDUP -DFORCE -DREOPENS=0 -DCANCELS=0"),
    ("the upstream knows our key, the row is forgotten once",
     "-DDEDUP -DGENS=2 -DSETTLES=0 -DREOPENS=0 -DPROBES=0"),
    ("verdicts, and the row is forgotten once", "-DGENS=2 -DSETTLES=1 -DCANCELS=0"),
]
LARGE_WORLDS = [
    ("the upstream knows our key", "-DDEDUP"),
    ("forced verdicts", "-DFORCE"),
    ("the row is forgotten once", "-DGENS=2 -DREOPENS=0 -DSETTLES=1"),
]

SMALL = "-DSETTLES=0 -DREOPENS=0"
# One rule broken each: the name in the model, and the smallest world that shows it.
BUGS = [
    ("AS_IS", ""),
    ("H_RESEND", "-DDEDUP -DCANCELS=0 " + SMALL),
    ("H_PROMISE", "-DREOPENS=0"),
    ("H_GIVEUP", SMALL),
    ("H_CANCEL", SMALL),
    ("H_ABANDON", "-DREOPENS=0"),
    ("H_LATE", "-DSETTLES=1 -DREOPENS=0"),
    ("B_BUILT", "-DSETTLES=1 -DCANCELS=0"),
    ("B_EVIDENCE", "-DFORCE -DREOPENS=0 -DCANCELS=0 -DPROBES=0"),
    ("B_FENCE", "-DGENS=2 -DCANCELS=0 " + SMALL),
    ("B_FREE", "-DFORCE -DREOPENS=0 -DCANCELS=0 -DPROBES=0"),
    ("B_GUARD", SMALL),
    ("B_HOLDER", SMALL),
    ("B_MARKS", SMALL),
    ("B_NEWKEY", SMALL),
    ("B_NEWKEY2", SMALL + " -DCANCELS=0"),
    ("B_PROBE", SMALL),
    ("B_PURGE", "-DGENS=2 -DSETTLES=1 -DREOPENS=0 -DPROBES=0 -DCANCELS=0"),
    ("B_QUIET", SMALL),
    ("B_REOPEN", ""),
    ("B_REPLACE", "-DREOPENS=0 -DCANCELS=0"),
    ("B_REUSE", "-DDEDUP -DGENS=2 -DPROBES=0 -DCANCELS=0 " + SMALL),
    ("B_SETTLED", ""),
    ("B_SPEAK", SMALL),
    ("B_STATUS", SMALL),
    ("B_TELL_FIRST", ""),
    ("B_TOLD", ""),
    ("B_WINDOW", "-DDEDUP -DCANCELS=0 " + SMALL),
]

# The table changed, as somebody might by mistake: (state, event, new state or None: no such move).
TABLES = [
    ("SENT", "LAPSED", "RELEASED"),
    ("SENT", "LOST", "RELEASED"),
    ("SENT", "LAPSED", None),
    ("ABANDONED", "ANSWERED", None),
    ("DEFERRED", "GIVE_UP", None),
    ("UNKNOWN", "SETTLE_EXECUTED", "RELEASED"),
    ("ABANDONED", "REOPEN", "RELEASED"),
    ("COMPLETED", "EXPIRE", "ABSENT"),
]


class Failed(Exception):
    pass


class Result:
    """What pan said of one world."""

    def __init__(self, text):
        errors = re.search(r"errors: (\d+)", text)
        states = re.search(r"(\d+) states, stored", text)
        if errors is None or states is None:
            raise Failed("pan said nothing of use:\n" + text[-2000:])
        if re.search(r"max search depth too small|out of memory|reached -DMEMLIM|resized", text):
            raise Failed("the search was not whole:\n" + text[:2000])
        self.errors = int(errors.group(1))
        self.states = int(states.group(1))
        self.reached = {int(n) for n in re.findall(r"^reached (\d+)$", text, re.MULTILINE)}
        broken = re.search(r"assertion violated\s+(.*?)\s*\(at depth", text)
        self.broken = broken.group(1) if broken else ""


def call(command, cwd, deadline_s):
    """Runs one tool; -> its words. Its memory is bounded, whatever it does."""
    def bound():
        limit = (MEMORY_MB + 500) << 20
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=deadline_s, check=False, preexec_fn=bound)
    return done.returncode, done.stdout


def read(name):
    with open(os.path.join(MODEL, name), encoding="utf-8") as file:
        return file.read()


def table_with(state, event, target):
    """moves.pml with one move changed, added or taken away."""
    text = read("moves.pml")
    line = re.compile(r"^    :: s == %s && e == EV_%s -> s = \w+\n" % (state, event), re.MULTILINE)
    new = "    :: s == %s && e == EV_%s -> s = %s\n" % (state, event, target) if target else ""
    if not line.search(text):
        raise Failed("moves.pml has no move %s + %s" % (state, event))
    return line.sub(lambda _: new, text)


def check(flags, fast_compile, table=None):
    """Builds and searches one world; -> Result."""
    where = tempfile.mkdtemp(prefix="model-")
    try:
        for name in ("receipt.pml", "moves.pml"):
            text = table if table is not None and name == "moves.pml" else read(name)
            with open(os.path.join(where, name), "w", encoding="utf-8") as file:
                file.write(text)
        code, text = call(["spin", "-a", *flags.split(), "receipt.pml"], where, COMPILE_S)
        if code != 0 or not os.path.exists(os.path.join(where, "pan.c")):
            raise Failed("spin: " + text)
        code, text = call(["gcc", "-O0" if fast_compile else "-O2", "-w", "-DSAFETY",
                           "-DMEMLIM=%d" % MEMORY_MB, "-o", "pan", "pan.c"], where, COMPILE_S)
        if code != 0:
            raise Failed("gcc: " + text[-2000:])
        _, text = call(["./pan", "-m%d" % DEPTH], where, TIME_S)
        return Result(text)
    finally:
        shutil.rmtree(where, ignore_errors=True)


def jobs_of(worlds):
    """(kind, name, flags, table) of everything there is to check."""
    jobs = [("holds", name, flags, None) for name, flags in worlds]
    jobs += [("fails", "-D" + name, flags, None) for name, flags in BUGS]
    for state, event, target in TABLES:
        name = "%s + %s -> %s" % (state, event, target or "nothing")
        jobs.append(("fails", name, "", (state, event, target)))
    return jobs


def run(job):
    kind, name, flags, table = job
    all_flags = " ".join(filter(None, ["-DREACHED" if kind == "holds" else "",
                                       name if name.startswith("-D") else "", flags]))
    result = check(all_flags, kind == "fails", table_with(*table) if table else None)
    if (result.errors == 0) != (kind == "holds"):
        raise Failed("%s %s: expected that it %s; %d errors in %d states (%s)"
                     % (name, flags, kind, result.errors, result.states, result.broken))
    return result


def names_are_complete():
    """A bug that the model knows and nobody checks would prove nothing."""
    text = read("receipt.pml")
    known = set(re.findall(r"#ifn?def ([HB]_\w+|AS_IS)", text))
    checked = {name for name, _ in BUGS}
    if known != checked:
        raise Failed("in the model, but not checked, or the other way round: %s"
                     % sorted(known ^ checked))
    return {int(n) for n in re.findall(r"SEEN\((\d+)\)", text)}


def report(job, result, markdown):
    kind, name, flags, _ = job
    outcome = "0 errors" if kind == "holds" else "fails"
    if markdown:
        print("| %s | %s | %s | %d |" % (name if " " in name else "`%s`" % name,
                                         "`%s`" % flags if flags else "", outcome, result.states))
    else:
        print("%-8s %10d states  %s %s" % (outcome, result.states, name, flags))
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description="Checks the model of a receipt's life.")
    parser.add_argument("--all", action="store_true", help="larger worlds as well")
    parser.add_argument("--only", help="what has this text in its name or flags")
    parser.add_argument("--markdown", action="store_true", help="the table of the README")
    options = parser.parse_args()
    if shutil.which("spin") is None or shutil.which("gcc") is None:
        print("run.py: spin and gcc are needed: apt-get install spin gcc", file=sys.stderr)
        return 1
    try:
        places = names_are_complete()
        reached = set()
        jobs = jobs_of(WORLDS + (LARGE_WORLDS if options.all else []))
        if options.only:
            jobs = [job for job in jobs if options.only in " ".join(job[1:3])]
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            for job, result in zip(jobs, pool.map(run, jobs)):
                report(job, result, options.markdown)
                reached |= result.reached
    except (Failed, subprocess.TimeoutExpired) as error:
        print("run.py: %s" % error, file=sys.stderr)
        return 1
    if options.only:
        return 0
    if reached != places:
        print("run.py: never reached: %s" % sorted(places - reached), file=sys.stderr)
        return 1
    print("%d worlds hold, %d bugs and %d changed tables fail, %d places reached"
          % (len(jobs) - len(BUGS) - len(TABLES), len(BUGS), len(TABLES), len(places)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
