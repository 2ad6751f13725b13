// `npm run bench:inbox`: how fast the inbox is in a real browser. Measured and printed, not gated: a busy machine is no bug.
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { openStand } from './harness/stand.ts';

const pendingCount = Number(process.argv[2] ?? 1000);
const rounds = 15;
const data = mkdtempSync(join(tmpdir(), 'countersign-speed-'));
const stand = await openStand(data);
try {
  for (let from = 0; from < pendingCount; from += 250) {
    const calls = Array.from({ length: Math.min(250, pendingCount - from) }, (_, index) => ({
      toolCallId: `c${String(index)}`,
      toolName: 'delete_file',
      arguments: { path: `/srv/${String(from + index)}`, recursive: false },
      needsApproval: true,
    }));
    await stand.ask({ runId: `run-${String(from)}`, calls });
  }
  const page = await stand.open();
  const firstCards: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const startedAt = performance.now();
    await page.goto(stand.url, { waitUntil: 'commit' });
    await page.getByRole('article').waitFor();
    firstCards.push(performance.now() - startedAt);
  }
  await page.getByText(`${pendingCount.toLocaleString('en-US')} shown`).waitFor();
  const decisions: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    decisions.push(
      // Measured inside the page, from the key press to the frame without the row.
      await page.evaluate<number>(`new Promise((resolve) => {
        const count = () => document.querySelector('.list-foot').textContent;
        const before = count();
        const startedAt = performance.now();
        const look = () => (count() === before ? requestAnimationFrame(look) : resolve(performance.now() - startedAt));
        document.querySelector('.cs-button.cs-approve').click();
        look();
      })`),
    );
    await page.getByRole('button', { name: 'Approve' }).waitFor();
  }
  const scrolled = await page.evaluate<number[]>(`new Promise((resolve) => {
    const list = document.querySelector('.list-scroll');
    const frames = [];
    let last = performance.now();
    const step = (now) => {
      frames.push(now - last);
      last = now;
      list.scrollTop += 400;
      if (frames.length < 120) requestAnimationFrame(step);
      else resolve(frames.slice(1));
    };
    requestAnimationFrame(step);
  })`);
  print('first card visible after a load, warm server', firstCards);
  print('from the press on Approve to the updated list', decisions);
  print('between two frames while scrolling', scrolled);
  const assets = join(import.meta.dirname, '..', '..', 'apps', 'inbox', 'dist', 'assets');
  for (const kind of ['index', '']) {
    const scripts = readdirSync(assets).filter((name) => name.startsWith(kind) && name.endsWith('.js'));
    const bytes = scripts.reduce(
      (sum, name) => sum + gzipSync(readFileSync(join(assets, name)), { level: 9 }).length,
      0,
    );
    say(`scripts gzipped${kind === '' ? ', all of them' : ', to the first card'}: ${(bytes / 1000).toFixed(0)} kB`);
  }
} finally {
  await stand.close();
  rmSync(data, { recursive: true, force: true });
}

function print(what: string, times: readonly number[]): void {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number): string => (sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(0);
  say(`${what} (${String(pendingCount)} pending): median ${at(0.5)} ms, p95 ${at(0.95)} ms, worst ${at(1)} ms`);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
