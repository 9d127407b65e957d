"""Tables of costs: any order of classes and separator gives the same costs, and errors name their line."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib_core import InputError
from calib_core.readers import cost_table

names = st.lists(st.text('abc é;,\t"', min_size=1, max_size=4).filter(lambda s: s == s.strip()), min_size=2, max_size=5)


@given(names.map(lambda found: tuple(dict.fromkeys(found))).filter(lambda n: len(n) > 1), st.randoms(), st.data())
def test_any_order_and_separator(classes: tuple[str, ...], random: object, data: st.DataObject) -> None:
    k = len(classes)
    costs = np.array(data.draw(st.lists(st.floats(-9, 9), min_size=k * k, max_size=k * k))).reshape(k, k)
    columns, lines = (data.draw(st.permutations(range(k))) for _ in range(2))
    delimiter = data.draw(st.sampled_from(",;\t")) if not any(set(name) & set(",;\t") for name in classes) else ","

    def cell(text: str) -> str:
        return '"' + text.replace('"', '""') + '"'

    written = [["decided", *(cell(classes[j]) for j in columns)]]
    for i in lines:
        numbers = [repr(float(costs[i, j])) for j in columns]
        written.append([cell(classes[i]), *(numbers if delimiter == "," else [n.replace(".", ",") for n in numbers])])
    if len({delimiter.join(line).count(delimiter) for line in written}) > 1 and delimiter == ",":
        return  # names that contain the separator make its choice uncertain
    text = "\n".join(delimiter.join(line) for line in written) + "\n"
    np.testing.assert_array_equal(cost_table(text.encode(), classes), costs)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "costs.csv is empty"),
        (",cat,dog\ncat,0,1\n", 'costs.csv: its first column lacks: "dog"'),
        (",cat,cow\ncat,0,1\ndog,1,0\n", 'costs.csv: its header lacks: "dog"'),
        (",cat,dog,cow\ncat,0,1,1\ndog,1,0,1\n", 'costs.csv: its header has unknown classes: "cow"'),
        (",cat,cat,dog\ncat,0,1,1\ndog,1,0,1\n", 'costs.csv: its header repeats: "cat"'),
        (",cat,dog\ncat,0\ndog,1,0\n", "costs.csv, line 2 has 1 costs, but the header names 2 classes"),
        (",cat,dog\n\ncat,0,1\ndog,x,0\n", 'costs.csv, line 4, "cat": "x" is not a finite number'),
        (",cat,dog\ncat,0,inf\ndog,1,0\n", 'costs.csv, line 2, "dog": "inf" is not a finite number'),
    ],
)
def test_what_is_wrong_is_named(text: str, why: str) -> None:
    with pytest.raises(InputError) as found:
        cost_table(text.encode(), ("cat", "dog"))
    assert str(found.value).startswith(why)
