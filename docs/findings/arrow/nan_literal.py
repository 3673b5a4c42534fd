import pyarrow.compute as pc
from asking import answers
nan, a = float("nan"), pc.field("a")
def ask(text, values, where):
    print(f"{text:10} of {str(values):12}:", answers(values, where))
for values in [1.0, 2.0], [None, 0.0]:
    ask("~(a < nan)", values, ~(a < nan))
    ask("~(a <= nan)", values, ~(a <= nan))
    ask("~(a > nan)", values, ~(a > nan))
    ask("~(a == nan)", values, ~(a == nan))
