"""The site as a Mechanical Turk of its own: requesters' accounts, over the in-house crowd's people.

The rules are the emulator's, run without faults. Each account has two stores, one of real money
and one to try things in, so that what belongs to one is out of the other's reach.
"""
