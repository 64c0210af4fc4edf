const rows = [
  ["Oak shelf, 90 cm", 2, 64.0],
  ["Brass hooks", 12, 3.5],
  ["Linen curtain", 1, 82.25],
  ["Delivery", 1, 19.0],
];
const money = (value) => value.toFixed(2);

const css = `
body { margin: 0; padding: 40px; background: #e7e5e4; font-family: "Noto Serif", serif; color: #1c1917; }
.sheet { max-width: 720px; margin: auto; padding: 48px; background: #fff; box-shadow: 0 2px 12px rgba(0, 0, 0, 0.15); }
header { display: flex; justify-content: space-between; align-items: baseline; border-bottom: 3px solid #1c1917; }
h1 { font-size: 36px; margin: 0 0 12px; }
table { width: 100%; border-collapse: collapse; margin-top: 28px; }
th, td { padding: 10px 8px; text-align: right; border-bottom: 1px solid #d6d3d1; }
th:first-child, td:first-child { text-align: left; }
tfoot td { font-weight: 700; border-bottom: none; font-size: 20px; }
.due { display: inline-block; padding: 4px 14px; background: #fef3c7; color: #92400e; border-radius: 999px; }
`;

const Row = ({ name, count, price }) => (
  <tr>
    <td>{name}</td>
    <td>{count}</td>
    <td>{money(price)}</td>
    <td>{money(count * price)}</td>
  </tr>
);

export default function Page() {
  const total = rows.reduce((sum, [, count, price]) => sum + count * price, 0);
  return (
    <html lang="en">
      <head>
        <title>Invoice 1047</title>
        <style>{css}</style>
      </head>
      <body>
        <article className="sheet">
          <header>
            <h1>Invoice 1047</h1>
            <span className="due">due in 14 days</span>
          </header>
          <table>
            <thead>
              <tr>{["Item", "Number", "Price", "Sum"].map((head) => <th key={head}>{head}</th>)}</tr>
            </thead>
            <tbody>
              {rows.map(([name, count, price]) => <Row key={name} name={name} count={count} price={price} />)}
            </tbody>
            <tfoot>
              <tr>
                <td colSpan="3">Total</td>
                <td>{money(total)}</td>
              </tr>
            </tfoot>
          </table>
        </article>
      </body>
    </html>
  );
}
