"""The innermost loop of distances, of moments and of the division of rows by a factor: four rows, times factors, are
taken from two rows, which are then stored a quarter as often as row by row.
"""

from typing import Any

from core.kernels.jit import inner_kernel


@inner_kernel
def subtract_multiples(a: Any, b: Any, rows: Any, out_of_a: Any, out_of_b: Any) -> None:
    """Subtract a[0] rows[0] + ... + a[3] rows[3] from out_of_a (column,), and with the factors of b from
    out_of_b (column,).

    a, b and rows are tuples of four; all numbers are float64, or all are float32.
    """
    a_0, a_1, a_2, a_3 = a
    b_0, b_1, b_2, b_3 = b
    row_0, row_1, row_2, row_3 = rows
    for column in range(len(out_of_a)):
        value_0, value_1, value_2, value_3 = row_0[column], row_1[column], row_2[column], row_3[column]
        out_of_a[column] -= a_0 * value_0 + a_1 * value_1 + a_2 * value_2 + a_3 * value_3
        out_of_b[column] -= b_0 * value_0 + b_1 * value_1 + b_2 * value_2 + b_3 * value_3
