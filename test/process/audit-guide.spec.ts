import { execFileSync } from 'node:child_process';
import { appendFileSync, copyFileSync, cpSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { hash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { makeAuthority, serveAuthority } from '@countersign/timestamps/testing';
import { runOnNodes } from './cli/nodes.js';
import { runCli } from './cli/run-cli.js';
import { cleanUpAfterEach, onCleanup } from './harness/cleanup.js';
import { install } from './harness/standalone.js';
import type { Installation } from './harness/standalone.js';
import { eventually } from './harness/wait.js';
import { respond } from './traffic/approval-scenes.js';
import { execute, requestOne } from './traffic/scene.js';

cleanUpAfterEach();

const guide = readFileSync(join(import.meta.dirname, '../../docs/audit.md'), 'utf8');

/** The commands of a section of the guide. */
function commandsOf(heading: string): readonly string[] {
  const section = guide.slice(guide.indexOf(`## ${heading}`)).split('\n## ')[0] ?? '';
  return [...section.matchAll(/^(?:countersign|node) .*$/gm)].map(([command]) => command);
}

/** The commands in the table of questions. One that begins with dots goes on with the command before it. */
function commandsOfQuestions(): readonly string[] {
  const table = guide.slice(guide.indexOf('| question | command |')).split('\n\n')[0] ?? '';
  const commands: string[] = [];
  for (const [, row = ''] of table.matchAll(/^\|[^|]+\|([^|]+)\|$/gm)) {
    const [, dots, typed] = /^ (… )?`([^`]+)`/.exec(row) ?? [];
    if (typed !== undefined) commands.push(dots === undefined ? typed : `${commands.at(-1) ?? ''} ${typed}`);
  }
  return commands;
}

/** Types a command in the folder of the installation, as it stands in the guide. */
async function type(installed: Installation, command: string) {
  const [words = '', file] = command.split(/ >>? /);
  const placed = words
    .replace('/backup/data', installed.dataFolder)
    .replace('/mnt', join(installed.folder, 'mnt'))
    .replace('7400', String(installed.port));
  const args = placed.split(' ').slice(1);
  const { code, out, err } = await runCli(installed, args);
  if (file !== undefined) (command.includes('>>') ? appendFileSync : writeFileSync)(join(installed.folder, file), out);
  return { code, out, err };
}

const rows = `SELECT e.position, s.name AS stream, e.revision, e.event_id AS eventId, e.type, e.recorded_at AS recordedAt,
  e.metadata, e.data FROM events e JOIN streams s ON s.id = e.stream ORDER BY e.position`;

/** The log in its stored form, one event a line. */
function exportLog({ folder, dataFolder }: Installation): void {
  const log = new DatabaseSync(join(dataFolder, 'events.db'), { readOnly: true });
  const lines = log
    .prepare(rows)
    .all()
    .map(({ metadata, data, ...row }) =>
      JSON.stringify({
        ...row,
        metadata: JSON.parse(String(metadata)) as unknown,
        data: JSON.parse(String(data)) as unknown,
      }),
    );
  log.close();
  writeFileSync(join(folder, 'events.ndjson'), `${lines.join('\n')}\n`);
}

/** The script of a forger who owns the data folder: denials become approvals, and every hash is computed again. */
function forge({ dataFolder }: Installation): void {
  const log = new DatabaseSync(join(dataFolder, 'events.db'));
  let chain = Buffer.alloc(32);
  for (const row of log.prepare(rows).all()) {
    const data = String(row['data']).replace('"type":"deny"', '"type":"approve"').replace('"denied"', '"approved"');
    const numbers = Buffer.alloc(16);
    numbers.writeBigUInt64BE(BigInt(Number(row['position'])), 0);
    numbers.writeBigUInt64BE(BigInt(Number(row['revision'])), 8);
    const texts = [row['stream'], row['eventId'], row['type'], row['recordedAt'], row['metadata'], data].map((text) =>
      Buffer.from(String(text)),
    );
    const prefixed = texts.flatMap((text) => [Buffer.from(text.length.toString(16).padStart(8, '0'), 'hex'), text]);
    const leaf = hash('sha256', Buffer.concat([numbers, ...prefixed]), 'buffer');
    chain = Buffer.from(hash('sha256', Buffer.concat([chain, leaf]), 'buffer'));
    log
      .prepare('UPDATE events SET data = ?, leaf = ?, chain = ? WHERE position = ?')
      .run(data, leaf, chain, Number(row['position']));
  }
  log.prepare('UPDATE head SET chain = ? WHERE id = 1').run(chain);
  log.close();
  for (const name of ['log-tree.db', 'checkpoints.db', 'read-model.db'])
    rmSync(join(dataFolder, name), { force: true });
}

/** The commands about the search of the log, in a period that this run is in. */
async function askTheLog(auditor: Installation, callId: string): Promise<void> {
  const now = new Date().toISOString();
  const period = { '2026-11-01': '2026-01-01', '2026-12-01': '2100-01-01', '2026-11-03T09:00:00Z': now } as const;
  const outs: string[] = [];
  const commands = commandsOf('Ask the log');
  for (const command of commands) {
    const dated = Object.entries(period).reduce((text, [from, to]) => text.replace(from, to), command);
    const { code, out, err } = await type(auditor, dated.replace(/tc_[a-z0-9]+/, callId));
    expect({ command, code, err }).toEqual({ command, code: 0, err: '' });
    outs.push(out);
  }
  const [answers, call, newest, , , shown, state] = outs;
  expect(answers).toContain('ApprovalResponded');
  expect(call).toContain('ExecutionSucceeded');
  expect(newest?.split('\n', 1)[0]).toContain('"class_uid":6003');
  expect(shown).toContain('ExecutionSucceeded');
  expect(state).toMatch(/credentials: [1-9]/);
  const written = (name: string) => readFileSync(join(auditor.folder, name));
  expect(written('november.csv').toString().split('\r\n').length).toBeGreaterThan(5);
  expect(written('deletions.parquet').subarray(-4).toString()).toBe('PAR1');
  expect(commands).toHaveLength(7);
}

/** What the answer to each question of the table has; a question that is not here has none in this log. */
const answers: readonly (readonly [of: string, answer: RegExp])[] = [
  ['audit log --actor', /ApprovalResponded/],
  ['calls --state denied', /denied/],
  ['audit show', /ExecutionSucceeded/],
  ['audit state', /credentials: [1-9]/],
  ['audit prove', /"policies": \[\s+\{\s+"policyVersion": "sha256:/],
  ['PolicyActivated,ConfigurationChanged', /ConfigurationChanged/],
  ['ValuesRevealed,AuditRead', /AuditRead/],
  ['audit verify', /^Proven/],
  ['audit keys', /^countersign\.invalid/],
];

/** Types each command of the table, in a period that this run is in and about what is in its log. */
async function askTheTable(auditor: Installation, callId: string): Promise<void> {
  const now = new Date().toISOString();
  const commands = commandsOfQuestions();
  const missing = new Set(answers.map(([of]) => of));
  for (const command of commands) {
    const here = command
      .replace('2026-11-03T09:00:00Z', now)
      .replace('2026-11-01', '2026-01-01')
      .replace('2026-12-01', '2100-01-01')
      .replace('2026-11-03', '2026-01-01')
      .replace('2026-11-04', '2100-01-01')
      .replace('alice --', 'me --')
      .replace('delete_file', 'move_file')
      .replace('-o november', '-o report')
      .replace('CALL', callId);
    const { code, out, err } = await type(auditor, here);
    expect({ here, code, err }).toEqual({ here, code: 0, err: '' });
    for (const [of, answer] of answers) {
      if (!command.includes(of) || command.includes('.csv')) continue;
      expect(out).toMatch(answer);
      missing.delete(of);
    }
  }
  expect([...missing]).toEqual([]);
  expect(readFileSync(join(auditor.folder, 'alice.csv'), 'utf8')).toContain('ApprovalResponded');
  expect(readdirSync(join(auditor.folder, 'report'))).not.toHaveLength(0);
  expect(commands.length).toBeGreaterThan(16);
}

/** Sends each request of the table, in a period that this run is in and about what is in its log. */
async function askOverHttp({ http, tokens }: Installation, callId: string): Promise<void> {
  const requests = [...guide.matchAll(/^\|[^|]+\| `GET (\/v1\/[^`]+)`/gm)].map(([, path = '']) => path);
  const answered = new Map<string, string>();
  for (const path of requests) {
    const here = path
      .replace('2026-11-03T09:00:00Z', new Date().toISOString())
      .replace(/since=[^&]+/, 'since=2026-01-01T00:00:00Z')
      .replace(/until=[^&]+/, 'until=2100-01-01T00:00:00Z')
      .replace('alice', 'me')
      .replace('delete_file', 'move_file')
      .replace('CALL', callId);
    const { status, text } = await http.send({ method: 'GET', path: here, token: tokens.me });
    expect({ here, status }).toEqual({ here, status: 200 });
    answered.set(path, text);
  }
  expect(requests).toHaveLength(20);
  for (const [of, answer] of httpAnswers) {
    const found = [...answered].filter(([path]) => path.includes(of));
    expect(found).not.toEqual([]);
    for (const [path, text] of found) expect({ path, text }).toEqual({ path, text: expect.stringMatching(answer) });
  }
}

/** What answers have; a question that is not here has none in this log. */
const httpAnswers: readonly (readonly [of: string, answer: RegExp])[] = [
  ['types=ApprovalResponded', /"type":"ApprovalResponded"/],
  ['actor=alice', /ApprovalResponded/],
  ['state=denied', /"state":"denied"/],
  ['/events?asOf', /ExecutionSucceeded/],
  ['/v1/audit/state', /"principal":"me"/],
  ['/proof', /"policies":\[\{"policyVersion":"sha256:/],
  ['ConfigurationChanged', /ConfigurationChanged/],
  ['AuditRead', /AuditRead/],
  ['/v1/log/', /countersign\.invalid/],
];

/** A server whose checkpoints an authority stamps; the auditor has the root of it. */
async function installStamped(): Promise<Installation> {
  const authority = makeAuthority();
  onCleanup(authority.remove);
  const served = await serveAuthority(authority);
  onCleanup(served.close);
  const installed = await install({ COUNTERSIGN_TSA_URL: served.url, COUNTERSIGN_TSA_PRIVATE: 'true' });
  copyFileSync(authority.rootFile, join(installed.folder, 'roots.pem'));
  const { http, tokens } = installed;
  const read = { method: 'GET', path: '/v1/log/checkpoint/timestamp', token: tokens.me } as const;
  await eventually('a time stamp', async () => ((await http.send(read)).status === 200 ? true : undefined), 200);
  return installed;
}

/** Types the commands about time stamps. */
async function stamp(auditor: Installation): Promise<void> {
  const [write = '', ...verify] = commandsOf('Time stamps');
  expect(await type(auditor, write)).toMatchObject({ code: 0, err: '' });
  const [, openssl = ''] = /^openssl (ts .*)$/m.exec(guide) ?? [];
  execFileSync('openssl', openssl.split(' '), { cwd: auditor.folder, stdio: 'pipe' });
  for (const command of verify) {
    expect(await type(auditor, command)).toMatchObject({
      ...{ code: 0, out: expect.stringMatching(/the first \d+ events existed before/) },
    });
  }
  expect(verify).toHaveLength(2);
}

test('the commands of the audit guide prove a log, and are not deceived by the script of a forger', async () => {
  const installed = await installStamped();
  const { stage, server } = installed;
  const [approved, denied] = [
    await requestOne(stage, { needsApproval: true }),
    await requestOne(stage, { needsApproval: true }),
  ];
  await respond(stage, approved, { type: 'approve' });
  await execute(stage, approved.callId);
  await respond(stage, denied, { type: 'deny' });
  for (const command of [...commandsOf('Keep'), ...commandsOf('Keep').slice(1)]) {
    expect(await type(installed, command)).toMatchObject({ code: 0, err: '' });
  }
  exportLog(installed);
  const [toFolder = '', toZip = '', byFile = '', ...others] = commandsOf('Export a bundle');
  const byNodes = (command: string) => runOnNodes(installed.folder, command.split(' ').slice(1));
  for (const command of [toFolder, toZip]) expect(await type(installed, command)).toMatchObject({ code: 0, err: '' });
  copyFileSync(join(installed.folder, 'november', 'verify.mjs'), join(installed.folder, 'verify.mjs'));
  for (const result of byNodes(byFile)) expect(result).toMatchObject({ code: 0, err: '' });

  const verify = commandsOf('Verify');
  const codes = [];
  for (const command of verify) codes.push((await type(installed, command)).code);
  // The last one names no key.
  expect(codes).toEqual([0, 0, 0, 0, 3]);

  const [prove = '', ofProof = ''] = commandsOf('Prove one call');
  expect(await type(installed, prove.replace(/tc_[a-z0-9]+/, approved.callId))).toMatchObject({ code: 0, err: '' });
  expect(await type(installed, ofProof)).toMatchObject({ code: 0, err: '' });
  for (const result of others.flatMap(byNodes)) expect(result).toMatchObject({ code: 0, err: '' });
  const auditor = { ...installed, env: { COUNTERSIGN_TOKEN: installed.tokens.me } };
  cpSync(join(installed.folder, 'november', 'tiles'), join(installed.folder, 'mnt/audit/countersign/default/1'), {
    recursive: true,
  });
  for (const command of commandsOf('Verify tiles')) {
    expect(await type(auditor, command)).toMatchObject({ code: 0, err: '' });
  }
  const [, overNetwork = ''] = /`(countersign audit export http[^`]+)`/.exec(guide) ?? [];
  expect(await type(auditor, overNetwork.replace('november', 'network'))).toMatchObject({ code: 0, err: '' });
  expect(await type(installed, (verify[2] ?? '').replace('november', 'network'))).toMatchObject({ code: 0 });
  await stamp(auditor);
  await askTheLog(auditor, approved.callId);
  await askTheTable(auditor, approved.callId);
  await askOverHttp(auditor, approved.callId);

  await server().stop();
  // A copy elsewhere, without the configuration of the server, is enough; so is the log alone.
  for (const left of [/^(?:events|checkpoints|log-tree)\.db/, /^events\.db/]) {
    cpSync(installed.dataFolder, join(installed.folder, 'copied'), {
      recursive: true,
      filter: (file) => file === installed.dataFolder || left.test(basename(file)),
    });
    const args = ['copied', '--vkey', 'keys.txt', '--since', 'checkpoints.txt'];
    expect(await runCli({ ...installed, env: {} }, ['audit', 'verify', ...args])).toMatchObject({ code: 0, err: '' });
    rmSync(join(installed.folder, 'copied'), { recursive: true });
  }
  expect(await type(installed, ofProof)).toMatchObject({ code: 0 });
  expect(await type(installed, verify[0] ?? '')).toMatchObject({ code: 0 });
  forge(installed);
  const { code, out } = await type(installed, verify[0] ?? '');
  expect(code).toBe(1);
  expect(out).toMatch(/^NOT PROVEN/);
  expect(out).toMatch(/since: index 0: the first \d+ events are not those of the checkpoint that was kept/);

  // The forger exports what was forged, with every file and the manifest.
  rmSync(join(installed.folder, 'november'), { recursive: true });
  expect(await type(installed, toFolder)).toMatchObject({ code: 0 });
  for (const result of byNodes(byFile)) expect(result).toMatchObject({ code: 1 });
}, 240_000);
