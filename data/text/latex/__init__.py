"""LaTeX to text: files joined and comments dropped (`source`), macros expanded (`macros`), the rest made text
(`convert`, in a guarded child); formulas stay as they were written."""
