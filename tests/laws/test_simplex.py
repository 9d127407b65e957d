"""Laws of partitions of the simplex: every prediction in one cell, and the cells of P1 Appendix G."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from generated import UNTIED, permuted, rows
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from calib_core import BINNINGS, NotAnswerable, Predictions
from calib_core._base.arrays import Rows
from calib_core.binning import Grid, Projection, Sierpinski, of_simplex, partition, simplex_table
from calib_core.reductions import Canonical
from calib_core.registry.registry import Part

KEYS = Part("BINNINGS", of_simplex).keys
FIXED = [Sierpinski(1), Sierpinski(2), Sierpinski(4), Grid(1), Grid(2), Grid(5), Grid(7)]
PLACED = [Projection(bins, way) for bins in (1, 3, 8) for way in ("axes", "random", "shares")]
SCHEMES = [*(BINNINGS.make(key) for key in KEYS), *FIXED, *PLACED]
STYLES = ("spread", "confident", "grid", "one-hot", "mixed", "equal")
EACH = pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
SOME = settings(max_examples=15)


@st.composite
def matrices(draw, styles=STYLES, classes=None, dtypes=(np.float64, np.float32), max_rows=60):
    """Draw probability rows (n, K) as stored."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, k = draw(st.integers(1, max_rows)), classes or draw(st.integers(2, 5))
    made = rows(draw(st.sampled_from(styles)), n, k, rng).astype(draw(st.sampled_from(dtypes)))
    made.setflags(write=False)
    return made


def coded(matrix, scheme, weights=None):
    cells = partition(scheme, Rows(matrix), weights)
    return cells, cells.codes(Rows(matrix))


def test_the_promised_ways_of_cutting_are_there():
    assert {"sierpinski", "grid", "projection"} <= set(KEYS)


# -- slow obvious twins ----------------------------------------------------------------------------------------


def sierpinski_paths(k, depth):
    """Return all cells by their path from corner to corner, in order."""
    if depth == 0:
        return [()]
    return [(c, *rest) for c in range(k) for rest in sierpinski_paths(k, depth - 1)] + [("middle",)]


def sierpinski_path(s, depth):
    if depth == 0:
        return ()
    top = max(range(len(s)), key=lambda c: s[c])
    if s[top] <= Fraction(1, 2):
        return ("middle",)
    return (top, *sierpinski_path([2 * v - (c == top) for c, v in enumerate(s)], depth - 1))


def grid_cells(k, steps):
    """Return the cells of Eq. (26) as printed."""
    return [c for c in product(range(1, steps + 1), repeat=k) if max(k, steps + 1) <= sum(c) <= steps + k - 1]


def grid_cell(s, steps):
    """Return the cell of Eq. (27): the lexicographically smallest cell that contains the point."""
    inside = (c for c in grid_cells(len(s), steps) if all(c[j] - 1 <= v * steps <= c[j] for j, v in enumerate(s)))
    return min(inside)


def algorithm_10(points, directions, bins):
    """Return thresholds, cells and boundary rows by Algorithm 10, for rows without ties."""
    dot = lambda v, q: sum(a * b for a, b in zip(v, q, strict=True))  # noqa: E731  reads like the paper
    c = (len(points) + 1) // bins
    left, thresholds = list(points), []
    for q in directions:
        t = sorted(dot(v, q) for v in left)[c - 1]
        thresholds.append(t)
        left = [v for v in left if dot(v, q) > t]
    cells = [
        next((b for b, (q, t) in enumerate(zip(directions, thresholds, strict=True)) if dot(v, q) < t), bins - 1)
        for v in points
    ]
    return thresholds, cells


def exact(row):
    """Return the row as fractions that sum to 1: the last entry is the remainder."""
    first = [Fraction(float(v)) for v in row[:-1]]
    return [*first, 1 - sum(first)]


@SOME
@given(matrix=matrices(), depth=st.integers(1, 4))
def test_sierpinski_cells_are_those_of_the_recursion(matrix, depth):
    cells, codes = coded(matrix, Sierpinski(depth))
    order = sierpinski_paths(matrix.shape[1], depth)
    assert cells.n_cells == len(order)
    assert [order[c] for c in codes] == [sierpinski_path([Fraction(float(v)) for v in s], depth) for s in matrix]


@SOME
@given(matrix=matrices(styles=UNTIED), steps=st.integers(1, 6))
def test_grid_cells_are_those_of_the_equations(matrix, steps):
    assume(matrix.shape[1] < 5)
    cells, codes = coded(matrix, Grid(steps))
    order = grid_cells(matrix.shape[1], steps)
    assert cells.n_cells == len(order)
    assert order == sorted(order)
    assume((matrix > 1e-6).all())
    assert [order[c] for c in codes] == [grid_cell(exact(s), steps) for s in matrix.astype(float)]
    assert [tuple(cells.steps_below(c) + 1) for c in range(cells.n_cells)] == order


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("steps", [1, 2, 3, 5, 8, 10])
@pytest.mark.parametrize("parts", [10, 40, 100])
def test_points_on_edges_go_to_the_smallest_cell_whatever_rounding_does(dtype, steps, parts):
    for k in (2, 3, 4) if steps < 8 else (3,):
        whole = np.random.default_rng(parts).multinomial(parts, np.full(k, 1 / k), 25)
        order = grid_cells(k, steps)
        _, codes = coded((whole / parts).astype(dtype), Grid(steps))
        wanted = [grid_cell([Fraction(int(v), parts) for v in row], steps) for row in whole]
        assert [order[c] for c in codes] == wanted


def test_a_row_that_rounding_pushed_beyond_a_vertex_counts_as_the_vertex():
    vertex = np.array([0.2, 0.4, 0.4])
    beyond = np.nextafter(vertex, 1)
    assert beyond.min() > 0.2
    _, codes = coded(np.array([vertex, beyond, [0.4, 0.0, 0.6], np.nextafter([0.4, 0.0, 0.6], 1)]), Grid(5))
    assert codes[0] == codes[1]
    assert codes[2] == codes[3]


@SOME
@given(seed=st.integers(0, 999), n=st.integers(3, 60), k=st.integers(2, 5), bins=st.integers(1, 9))
def test_projections_are_those_of_algorithm_10(seed, n, k, bins):
    assume(bins <= (n + 1) // 2)
    points = np.random.default_rng(seed).dirichlet(np.ones(k), n)
    for way in ("axes", "random"):
        scheme = Projection(bins, way, random_state=seed)
        cells, codes = coded(points, scheme)
        directions = cells.planes[:, :-1]
        if way == "axes":
            np.testing.assert_array_equal(directions, [-np.eye(k)[b % k] for b in range(bins - 1)] or np.empty((0, k)))
        np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1, rtol=1e-12)
        thresholds, wanted = algorithm_10([[float(v) for v in row] for row in points], directions.tolist(), bins)
        np.testing.assert_allclose(cells.planes[:, -1], thresholds, rtol=1e-14)
        inside = cells.interior(Rows(points), None) > 0
        assert (~inside).sum() == bins - 1, "one row on every plane"
        np.testing.assert_array_equal(codes[inside], np.array(wanted)[inside])


# -- laws of all partitions --------------------------------------------------------------------------------------


@EACH
@SOME
@given(matrix=matrices())
def test_every_row_is_in_one_cell_told_from_the_row_alone(scheme, matrix):
    cells, codes = coded(matrix, scheme)
    assert ((codes >= 0) & (codes < cells.n_cells)).all()
    assert isinstance(cells.n_cells, int)
    for i in (0, len(matrix) - 1):
        assert cells.codes(Rows(matrix[i : i + 1])) == codes[i]
    order = np.random.default_rng(1).permutation(len(matrix))
    np.testing.assert_array_equal(cells.codes(Rows(matrix, order)), codes[order])
    np.testing.assert_array_equal(cells.codes(Rows(np.asfortranarray(matrix))), codes)


def test_slanted_planes_tell_long_rows_from_the_row_alone_too():
    matrix = np.random.default_rng(0).dirichlet(np.full(37, 0.3), 400)
    cells, codes = coded(matrix, Projection(20, "random"))
    alone = [int(cells.codes(Rows(matrix[i : i + 1]))[0]) for i in range(400)]
    assert alone == codes.tolist()


@EACH
@SOME
@given(matrix=matrices())
def test_cells_do_not_depend_on_the_order_of_rows(scheme, matrix):
    order = np.random.default_rng(2).permutation(len(matrix))
    planes = [scheme.placed(Rows(m), None) for m in (matrix, matrix[order])]
    np.testing.assert_array_equal(*planes)


@EACH
@SOME
@given(matrix=matrices(), seed=st.integers(0, 99))
def test_a_whole_weight_is_that_many_copies(scheme, matrix, seed):
    weights = np.random.default_rng(seed).integers(0, 4, len(matrix)).astype(float)
    weights[0] += 1
    at = np.repeat(np.arange(len(matrix)), weights.astype(int))
    labels = np.arange(len(matrix)) % matrix.shape[1]
    weighed = Canonical().split(Predictions(matrix, labels, weights=weights))
    copied = Canonical().split(Predictions(matrix[at], labels[at]))
    np.testing.assert_allclose(scheme.placed(weighed.rows, weights), scheme.placed(copied.rows, None), atol=1e-12)
    one, two = simplex_table(weighed, scheme), simplex_table(copied, scheme)
    np.testing.assert_array_equal(one.cells, two.cells)
    for name in ("count", "mean", "frequency", "weight", "worth"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-9, atol=1e-12)
    inside = [t.partition.interior(c.rows, c.weights) for t, c in ((one, weighed.counted()), (two, copied))]
    sums = [
        np.bincount(t.codes, weights=np.ones(len(t.codes)) if w is None else w, minlength=len(t.cells))
        for t, w in zip((one, two), inside, strict=True)
    ]
    np.testing.assert_allclose(sums[0], sums[1], atol=1e-9)


@pytest.mark.parametrize("scheme", [s for s in SCHEMES if not isinstance(s, Projection)], ids=repr)
@SOME
@given(matrix=matrices(styles=UNTIED), seed=st.integers(0, 99))
def test_relabelling_the_classes_relabels_the_cells(scheme, matrix, seed):
    k = matrix.shape[1]
    turned = np.random.default_rng(seed).permutation(k)
    cells, here = coded(matrix, scheme)
    _, there = coded(matrix[:, turned], scheme)
    pairs = set(zip(here.tolist(), there.tolist(), strict=True))
    assert len(pairs) == len(set(here.tolist())) == len(set(there.tolist()))
    names = tuple(f"c{j}" for j in range(k))
    of_turned = tuple(names[j] for j in turned)
    for one, two in pairs:
        first, second = cells.title(one, names), cells.title(two, of_turned)
        assert sorted(first.split(", ")) == sorted(second.split(", "))


@SOME
@given(matrix=matrices(), depth=st.integers(2, 4))
def test_a_corner_blown_up_is_a_simplex_and_is_cut_as_one(matrix, depth):
    k, top = matrix.shape[1], matrix.argmax(1)
    high = matrix.max(1) > 0.5
    assume(high.any())
    t = (2 * matrix - np.eye(k, dtype=matrix.dtype)[top])[high]
    assert (t >= 0).all()
    np.testing.assert_allclose(t.sum(1), 1, atol=4e-6 if matrix.dtype == np.float32 else 1e-12)
    inner, outer = coded(t, Sierpinski(depth - 1)), coded(matrix[high], Sierpinski(depth))
    np.testing.assert_array_equal(outer[1], top[high] * inner[0].n_cells + inner[1])


def test_numbers_of_cells():
    one = Rows(np.full((1, 3), 1 / 3))
    assert [partition(Sierpinski(q), one).n_cells for q in (1, 2, 3)] == [4, 13, 40]
    assert [partition(Grid(c), one).n_cells for c in (1, 2, 5, 50)] == [1, 4, 25, 2500]
    many = Rows(np.full((1, 1000), 1e-3))
    assert partition(Sierpinski(6), many).n_cells == (1000**7 - 1) // 999
    assert type(partition(Grid(5), many).n_cells) is int
    for scheme, rows_ in ((Sierpinski(6), np.full((1, 1500), 1 / 1500)), (Grid(20), np.full((1, 1000), 1e-3))):
        with pytest.raises(NotAnswerable, match="classes give too many cells"):
            partition(scheme, Rows(rows_))


@pytest.mark.parametrize("scheme", PLACED, ids=repr)
@SOME
@given(matrix=matrices(styles=("spread", "grid", "mixed", "equal", "one-hot")), weighted=st.booleans())
def test_projection_cells_hold_the_promised_number_of_rows_inside(scheme, matrix, weighted):
    n = len(matrix)
    weights = np.random.default_rng(n).integers(0, 3, n).astype(float) if weighted else None
    assume(weights is None or weights.sum() > 0)
    total = n if weights is None else int(weights.sum())
    cells, codes = coded(matrix, scheme, weights)
    inside = cells.interior(Rows(matrix), weights)
    held = np.bincount(codes, weights if inside is None else inside, minlength=cells.n_cells)
    bins = max(1, min(scheme.bins, (total + 1) // 2))
    assert held.min() >= (total + 1) // bins - 1 - 1e-6
    assert held.sum() == pytest.approx(total - (cells.n_cells - 1))


def test_projection_by_shares_looks_at_common_classes_more_often():
    matrix = np.random.default_rng(0).dirichlet([6, 3, 1], 500)
    planes = Projection(11, "shares").placed(Rows(matrix), None)
    assert (-planes[:, :-1]).sum(0).tolist() == [6, 3, 1]


# -- outlines ----------------------------------------------------------------------------------------------------


def flat(points):
    """Return barycentric points in the plane."""
    return points @ np.array([[0, 0], [1, 0], [0.5, 1]])


def depth_inside(points, polygon):
    """Return the depth of points in a convex polygon: the least signed distance to its sides, negative outside."""
    corners = flat(polygon)
    side = np.roll(corners, -1, 0) - corners
    turn = np.sign(area(corners))
    normal = turn * np.column_stack([-side[:, 1], side[:, 0]]) / np.linalg.norm(side, axis=1)[:, None]
    return ((flat(points)[:, None] - corners) * normal).sum(2).min(1)


def area(corners):
    x, y = corners.T
    return (x * np.roll(y, -1) - y * np.roll(x, -1)).sum() / 2


@EACH
@SOME
@given(matrix=matrices(classes=3, dtypes=(np.float64,)))
def test_outlines_hold_their_rows_and_tile_the_triangle(scheme, matrix):
    cells, codes = coded(matrix, scheme)
    outlines = cells.outlines()
    assert len(outlines) == cells.n_cells
    for code, polygons in enumerate(outlines):
        assert len(polygons) == 1 or not (codes == code).any()
        for polygon in polygons:
            np.testing.assert_allclose(polygon.sum(1), 1, atol=1e-12)
            assert polygon.min() > -1e-12
            if abs(area(flat(polygon))) > 1e-9:  # a plane through a corner cuts off a line or a point
                depth = depth_inside(matrix, polygon)
                assert (depth[codes == code] > -1e-9).all()
                assert (codes[depth > 1e-9] == code).all()
    assert sum(abs(area(flat(p[0]))) for p in outlines if p) == pytest.approx(0.5)


def test_triangles_stand_as_the_paper_draws_them():
    upside_down = [
        area(flat(p[0])) * area(flat(np.eye(3))) for p in partition(Sierpinski(1), Rows(np.eye(3))).outlines()
    ]
    assert len(upside_down) == 4
    middle = partition(Sierpinski(1), Rows(np.eye(3))).outlines()[3][0]
    assert sorted(map(tuple, middle.tolist())) == [(0.0, 0.5, 0.5), (0.5, 0.0, 0.5), (0.5, 0.5, 0.0)]
    grid = partition(Grid(2), Rows(np.eye(3))).outlines()
    assert {len(polygons[0]) for polygons in grid} == {3}
    assert partition(Sierpinski(2), Rows(np.full((1, 4), 0.25))).outlines() == ()


# -- tables --------------------------------------------------------------------------------------------------------


@EACH
@SOME
@given(matrix=matrices(), seed=st.integers(0, 99))
def test_tables_hold_what_a_loop_over_rows_finds(scheme, matrix, seed):
    k = matrix.shape[1]
    labels = np.random.default_rng(seed).integers(k, size=len(matrix))
    weights = np.random.default_rng(seed).random(len(matrix)) if seed % 2 else None
    claims = Canonical().split(Predictions(matrix, labels, weights=weights))
    table = simplex_table(claims, scheme)
    codes = table.partition.codes(Rows(matrix))
    assert sorted(set(codes.tolist())) == table.cells.tolist()
    w = np.ones(len(matrix)) if weights is None else claims.weights  # rescaled to mean 1
    for b, cell in enumerate(table.cells):
        mine = codes == cell
        np.testing.assert_allclose(table.count[b], w[mine].sum())
        np.testing.assert_allclose(
            table.mean[b], np.average(matrix[mine].astype(float), axis=0, weights=w[mine]), atol=1e-9
        )
        np.testing.assert_allclose(
            table.frequency[b], np.average(np.eye(k)[labels[mine]], axis=0, weights=w[mine]), atol=1e-9
        )
        np.testing.assert_array_equal(table.cells[table.codes[mine]], cell)
    frame = table.frame()
    assert len(frame) == len(table.cells)
    np.testing.assert_allclose(frame["distance"], np.abs(table.gap).sum(1))


def test_what_is_no_point_of_the_simplex_says_so():
    per_class = Canonical().split(Predictions.from_scores([[0.9, 0.4]], [0]))
    with pytest.raises(NotAnswerable, match="need not sum to 1"):
        simplex_table(per_class, "grid")


@SOME
@given(matrix=matrices(classes=3), seed=st.integers(0, 9))
def test_permuting_predictions_permutes_nothing_else(matrix, seed):
    p = Predictions(matrix, np.arange(len(matrix)) % 3)
    shuffled, _ = permuted(p, seed)
    for scheme in SCHEMES:
        one, two = (simplex_table(Canonical().split(q), scheme) for q in (p, shuffled))
        np.testing.assert_array_equal(one.cells, two.cells)
        np.testing.assert_allclose(one.mean, two.mean, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(one.outcome, two.outcome)
