const taken = new Set(["A2", "A3", "B5", "C1", "C2", "C3", "D6", "E4"]);
const chosen = new Set(["D3", "D4"]);
const letters = ["A", "B", "C", "D", "E"];

const css = `
body { margin: 0; background: #f8fafc; color: #0f172a; font-family: "DejaVu Sans", sans-serif; }
main { max-width: 620px; margin: 40px auto; text-align: center; }
.screen { height: 14px; margin: 0 60px 32px; border-radius: 0 0 50% 50%; background: #94a3b8; }
.row { display: grid; grid-template-columns: 30px repeat(6, 56px); gap: 12px; justify-content: center; margin-bottom: 12px; }
.row span { align-self: center; color: #64748b; }
.seat { height: 48px; border: none; border-radius: 10px 10px 4px 4px; background: #38bdf8; color: #fff; font-size: 15px; }
.seat.taken { background: #cbd5e1; }
.seat.chosen { background: #16a34a; }
.sum { margin-top: 28px; padding: 18px; border-radius: 12px; background: #e0f2fe; font-size: 18px; }
`;

const look = (place) => (taken.has(place) ? "seat taken" : chosen.has(place) ? "seat chosen" : "seat");

export default function Page() {
  return (
    <html lang="en">
      <head>
        <title>Choose your seats</title>
        <style>{css}</style>
      </head>
      <body>
        <main>
          <h1>Choose your seats</h1>
          <div className="screen" />
          {letters.map((letter) => (
            <div className="row" key={letter}>
              <span>{letter}</span>
              {[1, 2, 3, 4, 5, 6].map((number) => (
                <button type="button" key={number} className={look(`${letter}${number}`)}>
                  {letter}
                  {number}
                </button>
              ))}
            </div>
          ))}
          <p className="sum">
            {chosen.size} seats: {[...chosen].join(", ")}
          </p>
        </main>
      </body>
    </html>
  );
}
