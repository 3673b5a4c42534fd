import pyarrow as pa, pyarrow.compute as pc
from asking import answers
nan, a = float("nan"), pc.field("a")
def ask(text, values, where):
    print(f"{text:26} of {str(values):16}:", answers(values, where))
for values in [nan, 1.0], [nan, 1.0, 2.0]:
    ask("is_nan(a)", values, pc.is_nan(a))
    ask("a != 1.0", values, a != 1.0)
    ask("~(a > 0.0)", values, ~(a > 0.0))
    ask("~(a <= a)", values, ~(a <= a))
    ask("a.is_null(nan_is_null=True)", values, a.is_null(nan_is_null=True))
    ask("a.isin([nan])", values, a.isin(pa.array([nan])))
