"""Histories of the literature, and of derivations, whose phenomena follow from the definitions by hand."""

from dataclasses import dataclass

from histories_in_short import history

from strategies.histories.histories import History

READ_SKEW = "G-SI G-SI-rt G-nonadjacent G-single G2 G2-item"


@dataclass(frozen=True, slots=True)
class Known:
    """A history, what it shows and satisfies, and its edges where they are of interest."""

    history: History
    phenomena: str
    strongest: str
    edges: str | None = None


KNOWN = {
    # Adya, Liskov, O'Neil, ICDE 2000: sections 3 and 4.
    "adya-H1": Known(
        history("r1(x@0) w1(x@1) r2(x@1) r2(y@0) c2 r1(y@0) w1(y@1) c1", "x@0 << x@1; y@0 << y@1"),
        READ_SKEW, "PL-2", "T1-wr->T2 T2-rw->T1"
    ),
    "adya-H2": Known(
        history("r2(x@0) r1(x@0) w1(x@1) r1(y@0) w1(y@1) c1 r2(y@1) c2", "x@0 << x@1; y@0 << y@1"),
        READ_SKEW, "PL-2", "T1-wr->T2 T2-rw->T1"
    ),
    "adya-H1-prime": Known(
        history("r1(x@0) w1(x@1) r1(y@0) w1(y@1) r2(x@1) r2(y@1) c1 c2", "x@0 << x@1; y@0 << y@1"),
        "G-SI G-SI-rt", "PL-3", "T1-wr->T2"
    ),
    "adya-H2-prime": Known(
        history("r2(x@0) r1(x@0) w1(x@1) r1(y@0) r2(y@0) w1(y@1) c2 c1", "x@0 << x@1; y@0 << y@1"),
        "", "PL-SI PL-3", "T2-rw->T1"
    ),
    "adya-H-serial": Known(
        history(
            "w1(z@1) w1(x@1) w1(y@1) w3(x@3) c1 r2(x@1) w2(y@2) c2 r3(y@2) w3(z@3) c3",
            "x@1 << x@3; y@1 << y@2; z@1 << z@3",
        ),
        "G-SI G-SI-rt", "PL-3", "T1-wr->T2 T1-ww->T2 T1-ww->T3 T2-wr->T3 T2-rw->T3"
    ),
    "adya-H-wcycle": Known(
        history("w1(x@1) w2(x@2) w2(y@2) c2 w1(y@1) c1", "x@1 << x@2; y@2 << y@1"),
        "G-SI G-SI-rt G0 G1c", "", "T1-ww->T2 T2-ww->T1"
    ),
    # x leaves Sales with x@1; x@2 changes nothing that the predicate asks for.
    "adya-H-pred-read": Known(
        history(
            "w4(x@4) c4 w1(x@1) c1 w2(x@2) p3(Sales:x@2,y@0) w2(y@2) c2 c3",
            "x@4 << x@1 << x@2; y@0 << y@2",
            {"Sales": ("x, y", "x@4, y@0, y@2")},
        ),
        "", "PL-SI PL-3", "T4-ww->T1 T1-ww->T2 T4-wrp->T3 T1-wrp->T3"
    ),
    "adya-H-phantom": Known(
        history(
            "p1(Sales:x@0,y@0) r1(x@0) r1(y@0) r2(sum@0) w2(z@2) w2(sum@2) c2 r1(sum@2) c1",
            "x@0; y@0; z@2; sum@0 << sum@2",
            {"Sales": ("x, y, z", "x@0, y@0, z@2")},
        ),
        "G-SI G-SI-rt G-nonadjacent G-single G2", "PL-2.99", "T1-rwp->T2 T2-wr->T1"
    ),
    "adya-G1a": Known(history("w1(x@1) r2(x@1) a1 c2", ""), "G1a", "PL-1", ""),
    "adya-G1b": Known(history("w1(x@1.1) r2(x@1.1) w1(x@1.2) c1 c2", "x@1.2"), "G1b", "PL-1", ""),
    "adya-G1c": Known(
        history("w1(x@1) w2(y@2) r1(y@2) r2(x@1) c1 c2", "x@1; y@2"),
        "G-SI G-SI-rt G1c", "PL-1", "T1-wr->T2 T2-wr->T1"
    ),
    "adya-lost-update": Known(
        history("r1(x@0) r2(x@0) w2(x@2) c2 w1(x@1) c1", "x@0 << x@2 << x@1"),
        READ_SKEW, "PL-2", "T1-rw->T2 T2-ww->T1"
    ),
    "adya-write-skew": Known(
        history("r1(x@0) r1(y@0) r2(x@0) r2(y@0) w1(x@1) w2(y@2) c1 c2", "x@0 << x@1; y@0 << y@2"),
        "G2 G2-item", "PL-SI", "T1-rw->T2 T2-rw->T1"
    ),
    # Hermitage: the schedule of each class, as a database without any protection would run it.
    "hermitage-G0": Known(
        history("b1 b2 w1(x@1) w2(x@2) w2(y@2) c2 w1(y@1) c1", "x@1 << x@2; y@2 << y@1"),
        "G-SI G-SI-rt G0 G1c", ""
    ),
    "hermitage-G1a": Known(
        history("b1 b2 w1(x@1) r2(x@1) a1 r2(x@0) c2", "x@0"), "G1a", "PL-1"
    ),
    "hermitage-G1b": Known(
        history("b1 b2 w1(x@1.1) r2(x@1.1) w1(x@1.2) c1 r2(x@1.2) c2", "x@0 << x@1.2"),
        "G-SI G-SI-rt G1b", "PL-1"
    ),
    "hermitage-G1c": Known(
        history("b1 b2 w1(x@1) w2(y@2) r1(y@2) r2(x@1) c1 c2", "x@0 << x@1; y@0 << y@2"),
        "G-SI G-SI-rt G1c", "PL-1"
    ),
    "hermitage-OTV": Known(
        history(
            "b1 b2 b3 w1(x@1) w1(y@1) c1 w2(x@2) r3(x@1) w2(y@2) c2 r3(y@2) c3",
            "x@0 << x@1 << x@2; y@0 << y@1 << y@2",
        ),
        READ_SKEW, "PL-2"
    ),
    "hermitage-PMP": Known(
        history(
            "b1 b2 p1(thirty:x@0,y@0) w2(z@2) c2 p1(thirds:x@0,y@0,z@2) c1",
            "x@0; y@0; z@2",
            {"thirty": ("x, y, z", "z@2"), "thirds": ("x, y, z", "z@2")},
        ),
        "G-SI G-SI-rt G-nonadjacent G-single G2", "PL-2.99", "T1-rwp->T2 T2-wrp->T1"
    ),
    "hermitage-P4": Known(
        history("b1 b2 r1(x@0) r2(x@0) w1(x@1) w2(x@2) c1 c2", "x@0 << x@1 << x@2"), READ_SKEW, "PL-2"
    ),
    "hermitage-G-single": Known(
        history("b1 b2 r1(x@0) r2(x@0) r2(y@0) w2(x@2) w2(y@2) c2 r1(y@2) c1", "x@0 << x@2; y@0 << y@2"),
        READ_SKEW, "PL-2", "T1-rw->T2 T2-wr->T1"
    ),
    "hermitage-G2-item": Known(
        history("b1 b2 r1(x@0) r1(y@0) r2(x@0) r2(y@0) w1(x@1) w2(y@2) c1 c2", "x@0 << x@1; y@0 << y@2"),
        "G2 G2-item", "PL-SI"
    ),
    "hermitage-G2": Known(
        history(
            "b1 b2 p1(thirds:x@0) p2(thirds:x@0) w1(y@1) w2(z@2) c1 c2",
            "x@0; y@1; z@2",
            {"thirds": ("x, y, z", "y@1, z@2")},
        ),
        "G2", "PL-2.99 PL-SI", "T1-rwp->T2 T2-rwp->T1"
    ),
    # A reader between two others: the two anti-dependencies are next to each other.
    "hermitage-G2-two-edges": Known(
        history(
            "b1 r1(x@0) r1(y@0) b2 r2(y@0) w2(y@2) c2 b3 r3(x@0) r3(y@2) c3 w1(x@1) c1",
            "x@0 << x@1; y@0 << y@2",
        ),
        "G2 G2-item", "PL-SI", "T1-rw->T2 T2-wr->T3 T3-rw->T1"
    ),
    # Elle: two readers see two writes in different orders.
    "long-fork": Known(
        history(
            "b1 b2 b3 b4 w1(x@1) c1 w2(y@2) c2 r3(x@1) r3(y@0) c3 r4(x@0) r4(y@2) c4",
            "x@0 << x@1; y@0 << y@2",
        ),
        "G-SI G-SI-rt G-nonadjacent G2 G2-item", "PL-2+", "T1-wr->T3 T3-rw->T2 T2-wr->T4 T4-rw->T1"
    ),
    # [D] section 4: the same run, with refreshes as plain writes and as derivations.
    "figure-1": Known(
        history(
            "w1(x@1) c1 r3(x@1) w3(y@3) c3 w2(x@2) c2 r4(x@2) w4(y@4) b5 r5(y@3) r5(x@2) c4 c5",
            "x@1 << x@2; y@3 << y@4",
        ),
        "", "PL-SI PL-3",
        "T1-wr->T3 T1-ww->T2 T3-rw->T2 T2-wr->T4 T3-ww->T4 T3-wr->T5 T2-wr->T5 T5-rw->T4"
    ),
    "figure-2": Known(
        history(
            "w1(x@1) c1 d3(y@3|x@1) c3 w2(x@2) c2 d4(y@4|x@2) b5 r5(y@3) r5(x@2) c4 c5",
            "x@1 << x@2; y@3 << y@4",
        ),
        READ_SKEW, "PL-2", "T1-wr->T5 T1-ww->T2 T2-wr->T5 T5-rw->T2"
    ),
    # Derivations: each of these is there for one rule.
    "stale-table": Known(
        history("w1(x@1) c1 d3(y@3|x@1) c3 w2(x@2) c2 b5 r5(y@3) c5", "x@1 << x@2; y@3"),
        "G-SI-rt", "PL-SI PL-3"
    ),
    "two-tables-one-behind": Known(
        history(
            "w1(x@1) c1 d3(y@3|x@1) c3 w2(x@2) c2 d4(z@4|x@2) c4 b5 r5(y@3) r5(z@4) c5",
            "x@1 << x@2; y@3; z@4",
        ),
        READ_SKEW, "PL-2"
    ),
    "serializable-but-no-snapshot": Known(
        history(
            "w1(x@1) c1 d4(y@4|x@1) c4 w2(x@2) c2 w3(v@3) c3 d6(z@6|v@3) c6 b5 r5(y@4) r5(z@6) c5",
            "x@1 << x@2; v@3; y@4; z@6",
        ),
        "G-SI G-SI-rt", "PL-3"
    ),
    "aborted-behind-a-table": Known(
        history("w1(x@1) d3(y@3|x@1) c3 a1 b5 r5(y@3) c5", "y@3"), "G1a", "PL-1"
    ),
    "intermediate-behind-a-table": Known(
        history("w1(x@1.1) d3(y@3|x@1.1) c3 w1(x@1.2) c1 r5(y@3) c5", "x@1.2; y@3"), "G1b", "PL-1"
    ),
    "intermediate-of-its-own": Known(
        history("w1(x@1.1) d1(y@1|x@1.1) r1(y@1) w1(x@1.2) c1", "x@1.2; y@1"), "", "PL-SI PL-3"
    ),
    "writes-through-tables": Known(
        history(
            "w1(a@1) w1(p@1) c1 w2(b@2) w2(q@2) c2 d3(z@3|a@1) d3(v@3|q@2) c3 d4(z@4|b@2) d4(v@4|p@1) c4",
            "a@1; b@2; p@1; q@2; z@3 << z@4; v@3 << v@4",
        ),
        "G-SI G-SI-rt G0 G1c", "", "T1-ww->T2 T2-ww->T1"
    ),
    # F1: a serial run over a join, whose other side stays; the literal clause condemns it.
    "join-with-what-stays": Known(
        history(
            "w1(x@1) c1 w2(y@2) c2 d3(z@3|x@1,y@2) c3 w4(y@4) c4 d5(z@5|x@1,y@4) c5 w6(y@6) c6 "
            "d7(z@7|x@1,y@6) c7 r8(z@7) c8",
            "x@1; y@2 << y@4 << y@6; z@3 << z@5 << z@7",
        ),
        "", "PL-SI PL-3", "T2-ww->T4 T4-ww->T6 T1-wr->T8 T6-wr->T8"
    ),
    "refreshed-from-the-same": Known(
        history(
            "w1(x@1) c1 w2(y@2) c2 d3(z@3|x@1,y@2) c3 d4(z@4|x@1,y@2) c4 r5(z@4) c5", "x@1; y@2; z@3 << z@4"
        ),
        "", "PL-SI PL-3", "T1-wr->T5 T2-wr->T5"
    ),
    # A predicate over a dynamic table: its writers are those of what it derives from anew.
    "predicate-over-a-table": Known(
        history(
            "w1(x@1) c1 d3(t@3|x@1) c3 b5 p5(P:t@3) w2(x@2) c2 d4(t@4|x@2) c4 r5(x@2) c5",
            "x@1 << x@2; t@3 << t@4",
            {"P": ("t", "t@4")},
        ),
        "G-SI G-SI-rt G-nonadjacent G-single G2", "PL-2.99", "T1-ww->T2 T5-rwp->T2 T2-wr->T5"
    ),
    # Predicates over derived versions that their order leaves out: what they derive from gives the place.
    "predicate-over-a-version-left-out": Known(
        history(
            "w1(x@1) c1 d3(p@1|x@1) w2(x@2) c2 p5(P:p@1) d3(p@2|x@2) c3 r5(x@2) c5",
            "x@1 << x@2; p@2",
            {"P": ("p", "p@1")},
        ),
        "G-SI G-SI-rt G-nonadjacent G-single G2", "PL-2.99", "T1-ww->T2 T1-wrp->T5 T5-rwp->T2 T2-wr->T5"
    ),
    "left-out-and-replaced-by-an-equal-match": Known(
        history(
            "w1(x@1) c1 d3(p@1|x@1) w2(x@2) c2 p5(P:p@1) d3(p@2|x@2) c3 r5(x@2) c5",
            "x@1 << x@2; p@2",
            {"P": ("p", "p@1, p@2")},
        ),
        "", "PL-SI PL-3", "T1-ww->T2 T1-wrp->T5 T2-wr->T5"
    ),
    "left-out-between-two": Known(
        history(
            "w1(x@1) c1 d4(p@1|x@1) c4 w2(x@2) c2 d5(p@2|x@2) a5 w3(x@3) c3 d6(p@3|x@3) c6 p7(P:p@2) c7",
            "x@1 << x@2 << x@3; p@1 << p@3",
            {"P": ("p", "p@1, p@3")},
        ),
        "G-SI-rt", "PL-SI PL-3", "T1-ww->T2 T2-ww->T3 T1-ww->T3 T1-wrp->T7 T2-wrp->T7 T7-rwp->T3"
    ),
    "left-out-before-its-source-was-born": Known(
        history(
            "w1(x@1) c1 d3(p@1|x@1) a3 w2(y@2) c2 d4(p@2|x@1,y@2) c4 p5(P:p@1) r5(y@2) c5",
            "x@1; y@2; p@2",
            {"P": ("p", "p@2")},
        ),
        "G-SI G-SI-rt G-nonadjacent G-single G2", "PL-2.99", "T5-rwp->T2 T2-wr->T5"
    ),
    "left-out-from-an-intermediate-of-its-own": Known(
        history(
            "w1(x@1.1) d1(p@1|x@1.1) p1(P:p@1) w1(x@1.2) d1(p@2|x@1.2) c1 w2(x@2) c2 d3(p@3|x@2) c3",
            "x@1.2 << x@2; p@2 << p@3",
            {"P": ("p", "p@1, p@2")},
        ),
        "", "PL-SI PL-3", "T1-ww->T2 T1-rwp->T2"
    ),
    "left-out-of-an-object-without-an-order": Known(
        history("w1(x@1) c1 d3(p@1|x@1) a3 p5(P:p@1) c5", "x@1", {"P": ("p", "p@1")}),
        "", "PL-SI PL-3", "T1-wrp->T5"
    ),
}  # fmt: skip
