const days = [
  { day: "Mon", sky: "☀", high: 24, low: 13 },
  { day: "Tue", sky: "☁", high: 19, low: 12 },
  { day: "Wed", sky: "☂", high: 16, low: 11 },
  { day: "Thu", sky: "☁", high: 18, low: 10 },
  { day: "Fri", sky: "☀", high: 22, low: 12 },
];

function Day({ day, sky, high, low }) {
  return (
    <li className="day">
      <strong>{day}</strong>
      <span className="sky">{sky}</span>
      <span>{high}°</span>
      <span className="low">{low}°</span>
    </li>
  );
}

function Curve({ values }) {
  const points = values.map((value, at) => `${at * 100 + 50},${120 - value * 4}`).join(" ");
  return (
    <svg viewBox="0 0 500 120" className="curve">
      <polyline points={points} fill="none" stroke="#f59e0b" strokeWidth="4" />
      {values.map((value, at) => (
        <circle key={at} cx={at * 100 + 50} cy={120 - value * 4} r="6" fill="#f59e0b" />
      ))}
    </svg>
  );
}

const css = `
body { margin: 0; background: #0f2a43; color: #f1f5f9; font-family: "Noto Sans", sans-serif; }
main { max-width: 640px; margin: 48px auto; padding: 32px; border-radius: 20px; background: #17395a; }
h1 { margin: 0; font-size: 28px; }
.now { font-size: 72px; font-weight: 700; margin: 8px 0; }
.week { display: flex; gap: 12px; padding: 0; list-style: none; }
.day { flex: 1; display: grid; gap: 6px; text-align: center; padding: 14px 0; border-radius: 12px; background: #204a73; }
.sky { font-size: 30px; }
.low { color: #93c5fd; }
.curve { width: 100%; }
`;

export default function Page() {
  return (
    <html lang="en">
      <head>
        <title>Weather by the harbour</title>
        <style>{css}</style>
      </head>
      <body>
        <main>
          <h1>By the harbour</h1>
          <p className="now">21°</p>
          <Curve values={days.map((day) => day.high)} />
          <ul className="week">
            {days.map((day) => (
              <Day key={day.day} {...day} />
            ))}
          </ul>
        </main>
      </body>
    </html>
  );
}
