const songs = [
  { title: "Low tide", length: "3:41", plays: 82 },
  { title: "Copper and oak", length: "4:05", plays: 64 },
  { title: "Early trains", length: "2:58", plays: 47 },
  { title: "Seven bridges", length: "5:12", plays: 31 },
];

const css = `
body { margin: 0; background: linear-gradient(160deg, #3b0764, #0f172a); min-height: 100vh; font-family: Arial, sans-serif; }
.player { max-width: 420px; margin: 48px auto; color: #f5f3ff; }
.cover { display: block; width: 100%; border-radius: 24px; }
h1 { margin: 20px 0 4px; }
.by { color: #c4b5fd; margin: 0 0 16px; }
.line { height: 6px; border-radius: 3px; background: #4c1d95; }
.line div { height: 6px; width: 38%; border-radius: 3px; background: #e879f9; }
.keys { display: flex; justify-content: center; gap: 24px; margin: 24px 0; }
.keys button { width: 56px; height: 56px; border: none; border-radius: 50%; background: #6d28d9; color: #fff; font-size: 20px; }
.keys .play { background: #e879f9; color: #3b0764; }
ol { padding: 0; list-style: none; }
li { display: flex; justify-content: space-between; padding: 12px 4px; border-top: 1px solid #4c1d95; }
`;

function Cover() {
  const rings = [90, 70, 50, 30];
  const colors = ["#e879f9", "#a855f7", "#6366f1", "#22d3ee"];
  return (
    <svg viewBox="0 0 300 220" className="cover">
      <rect width="300" height="220" fill="#1e1b4b" />
      {rings.map((radius, at) => <circle key={radius} cx="150" cy="110" r={radius} fill={colors[at]} />)}
    </svg>
  );
}

export default function Page() {
  return (
    <html lang="en">
      <head>
        <title>Now playing</title>
        <style>{css}</style>
      </head>
      <body>
        <main className="player">
          <Cover />
          <h1>{songs[0].title}</h1>
          <p className="by">Field recordings</p>
          <div className="line"><div /></div>
          <div className="keys">
            <button type="button">‹</button>
            <button type="button" className="play">▶</button>
            <button type="button">›</button>
          </div>
          <ol>
            {songs.map(({ title, length }) => (
              <li key={title}>
                <span>{title}</span>
                <span>{length}</span>
              </li>
            ))}
          </ol>
        </main>
      </body>
    </html>
  );
}
