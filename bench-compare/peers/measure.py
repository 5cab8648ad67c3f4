"""Calls something for a while, and gives items a second."""

import time


def rate(items, work, seconds=0.7):
    work()
    begin, done = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        work()
        done += items
    return done / (time.perf_counter() - begin)
