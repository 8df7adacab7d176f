"""Rules by which the cells of a table become numbers: text, kinds of columns, and data frames."""
