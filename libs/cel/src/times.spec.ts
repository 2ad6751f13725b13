import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** One that ends when the clocks of New York go forward, and one in the first hour of a summer's day of Paris. */
const expressions = [
  ['timestamp("2026-03-08T02:30:00Z").getHours()', '2'],
  ['timestamp("2026-06-30T00:30:00Z").getDayOfYear()', '180'],
  ['timestamp("2026-03-08T02:30:00Z").getHours("Europe/Paris")', '3'],
  ['timestamp("2026-03-29T01:30:00Z").getHours("+01:00")', '2'],
] as const;

/** The zone of a process is read once, so each has its own. */
const script = `
  import { celEnv, parse, plan } from '@bufbuild/cel';
  import { timeParts } from ${JSON.stringify(join(import.meta.dirname, 'times.ts'))};
  const env = celEnv({ funcs: timeParts });
  const results = ${JSON.stringify(expressions)}.map(([source]) => String(plan(env, parse(source))({})));
  process.stdout.write(JSON.stringify(results));
`;

it.each(['America/New_York', 'Europe/Paris', 'UTC'])('the parts of a time do not depend on the zone: %s', (zone) => {
  const options = { cwd: import.meta.dirname, env: { ...process.env, TZ: zone }, encoding: 'utf8' } as const;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], options);
  expect([stdout, stderr.includes('Error')]).toEqual([JSON.stringify(expressions.map(([, value]) => value)), false]);
});
