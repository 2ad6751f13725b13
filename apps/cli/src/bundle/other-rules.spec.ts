import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { formatVkey } from '@countersign/audit';
import { approvedStory, honestCheckpoint, testSigner } from '@countersign/audit/testing';
import type { JsonObject, LogEventView } from '@countersign/contracts';
import { eventColumns, csvLine } from '@countersign/exports';
import { exportTo, rewriteManifest } from '../testing/bundle-of.js';
import { createCliRun } from '../testing/cli-run.js';
import type { Manifest } from './layout.js';
import { currentRules } from './rules.js';
import type { BundleRules } from './rules.js';

const run = createCliRun({});
const output = { note: 'done', password: 'hunter2', text: '{"password":"hunter2","path":"/srv"}' };
const { events } = approvedStory().claim().report({ output });
const succeeded = events.findIndex(({ type }) => type === 'ExecutionSucceeded');
const responded = events.findIndex(({ type }) => type === 'ApprovalResponded');
const otherMasks = { masks: `sha256:${'a'.repeat(64)}` };
let top: string;
let number = 0;

beforeAll(() => {
  top = mkdtempSync(join(tmpdir(), 'countersign-rules-'));
  writeFileSync(join(top, 'keys'), formatVkey(testSigner.key));
});
afterAll(() => {
  rmSync(top, { recursive: true });
});

interface Made {
  /** The rules in the manifest; null: it has none, like bundles of earlier versions. */
  readonly rules?: Partial<BundleRules> | null;
  readonly view?: (view: LogEventView) => LogEventView;
}

/** A bundle with other views, and a manifest that fits them. */
async function bundleOf({ rules = {}, view: change = (same) => same }: Made): Promise<string> {
  const folder = join(top, String(++number));
  await exportTo(folder, { events, note: honestCheckpoint(events), values: 'clear' });
  const path = join(folder, 'views', '2026-11.ndjson');
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  const views = lines.map((line) => change(JSON.parse(line) as LogEventView));
  writeFileSync(path, views.map((view) => `${JSON.stringify(view)}\n`).join(''));
  const names = rules?.columns ?? eventColumns.map(({ name }) => name);
  const rows = views.map((view) =>
    names.map((one) => eventColumns.find(({ name }) => name === one)?.cellOf(view) ?? null),
  );
  writeFileSync(join(folder, 'views', '2026-11.csv'), [csvLine(names), ...rows.map(csvLine)].join(''));
  rewriteManifest(folder, ({ rules: _, ...manifest }) =>
    rules === null ? manifest : { ...manifest, rules: { ...currentRules(), ...rules } },
  );
  return folder;
}

async function verified(made: Made) {
  const { code, out, err } = await run('audit', 'verify', await bundleOf(made), '--vkey', join(top, 'keys'), '--json');
  interface Line {
    readonly ok?: boolean;
    readonly check?: string;
    readonly index?: number;
    readonly detail?: string;
    readonly summary?: { readonly unproven: readonly string[] };
  }
  const lines = out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]));
  const findings = lines.filter(({ ok }) => ok === false).map(({ check, index, detail }) => ({ check, index, detail }));
  return { code, err, findings, unproven: (lines.at(-1)?.summary?.unproven ?? []).join('\n') };
}

const at =
  (index: number, change: (data: JsonObject) => JsonObject) =>
  (view: LogEventView): LogEventView =>
    view.position === index && view.data !== null ? { ...view, data: change(view.data) } : view;
const withOutput = (other: JsonObject) => at(succeeded, (data) => ({ ...data, output: other }));

describe('a bundle of a version with other masks', () => {
  it('names its rules, and one without them is judged as before', async () => {
    const folder = await bundleOf({});
    const { rules } = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as Manifest;
    expect(rules).toEqual(currentRules());
    expect(await verified({ rules: null })).toMatchObject({ code: 0, findings: [] });
    expect(await verified({ rules: null, view: withOutput({ ...output, note: '[masked]' }) })).toMatchObject({
      code: 1,
    });
  });

  it.each([
    ['masks more', { note: '[masked]', password: '[masked]', text: '{"password":"[masked]","path":"[masked]"}' }],
    ['masks a whole value', '[masked]'],
    ['shows what this version masks', output],
    [
      'masks another part of a text',
      { ...output, password: '[masked]', text: '{"password":"hunter2","path":"[masked]"}' },
    ],
  ])('is proven where its view %s, and that is named', async (_, shown) => {
    const view = withOutput(shown as JsonObject);
    const { code, findings, unproven } = await verified({ rules: otherMasks, view });
    expect({ code, findings }).toEqual({ code: 0, findings: [] });
    expect(unproven).toContain(`the masks in 1 views: the bundle was made with other rules (${otherMasks.masks})`);
    // With the rules of this version the same view is a finding.
    expect(await verified({ view })).toMatchObject({ code: 1, findings: [{ check: 'files', index: succeeded }] });
  });

  it.each([
    ['another value', withOutput({ ...output, note: 'failed' })],
    ['another value beside a mask', withOutput({ ...output, password: '[masked]', note: 'failed' })],
    ['a text that is another one', withOutput({ ...output, text: '{"password":"[masked]","path":"/etc"}' })],
    ['a member less', withOutput({ note: 'done', password: '[masked]' })],
    ['a member more', withOutput({ ...output, by: '[masked]' })],
    ['a mask in the place of the decision', at(responded, (data) => ({ ...data, decision: '[masked]' }))],
    ['another decision', at(responded, (data) => ({ ...data, decision: { type: 'deny' } }))],
    ['a mask in the place of the resolution', at(responded, (data) => ({ ...data, resolution: '[masked]' }))],
    ['another actor', (view: LogEventView) => ({ ...view, actor: null })],
    ['events that it could have read', (view: LogEventView) => ({ ...view, data: null, unreadable: 'no' })],
  ])('is not proven where a view has %s', async (_, view) => {
    expect(await verified({ rules: otherMasks, view })).toMatchObject({ code: 1 });
  });
});

describe('a bundle of a version with other columns', () => {
  const columns = currentRules().columns.filter((name) => name !== 'bulkId' && name !== 'client');

  it('is proven by the columns that it names, and the others are named', async () => {
    const { code, findings, unproven } = await verified({ rules: { columns } });
    expect({ code, findings }).toEqual({ code: 0, findings: [] });
    expect(unproven).toContain('the tables lack columns of this version: client, bulkId');
  });

  it('is not proven where a table has other columns than the manifest names', async () => {
    const folder = await bundleOf({});
    rewriteManifest(folder, (manifest) => ({ ...manifest, rules: { ...currentRules(), columns } }));
    expect((await run('audit', 'verify', folder, '--vkey', join(top, 'keys'))).code).toBe(1);
  });

  it.each([
    ['an unknown column', [...columns, 'mood']],
    ['a column twice', [...columns, 'type']],
  ])('cannot be read with %s', async (_, names) => {
    expect(await verified({ rules: { columns: names } })).toMatchObject({
      code: 2,
      err: expect.stringContaining('column that this version does not know'),
    });
  });
});

describe('a bundle of a version that knew fewer types of events', () => {
  const types = currentRules().types.filter((type) => type !== 'ExecutionSucceeded');
  const unreadable = (view: LogEventView): LogEventView => {
    if (view.position !== succeeded) return view;
    const { eventId, type, position, callId, runId, tenant, revision, recordedAt } = view;
    const place = { eventId, type, position, callId, runId, tenant, revision, recordedAt };
    return {
      ...place,
      toolCallId: null,
      toolName: null,
      agentId: null,
      actor: null,
      data: null,
      unreadable: 'unknown',
    };
  };

  it('is proven where the view of such an event says nothing, and that is named', async () => {
    const { code, findings, unproven } = await verified({ rules: { types }, view: unreadable });
    expect({ code, findings }).toEqual({ code: 0, findings: [] });
    expect(unproven).toContain('the views of 1 events that the version that made the bundle could not read');
    const lying = (view: LogEventView) => ({ ...unreadable(view), actor: view.actor });
    expect(await verified({ rules: { types }, view: lying })).toMatchObject({ code: 1 });
  });
});

it('is not continued by a version with other rules', async () => {
  const folder = join(top, String(++number));
  const killed = (index: number) => {
    if (index === 2) throw new Error('killed');
  };
  await expect(exportTo(folder, { events, onEvent: killed })).rejects.toThrow('killed');
  const file = join(folder, '.countersign-export.json');
  writeFileSync(file, readFileSync(file, 'utf8').replace('"rules":{"masks":"sha256:', '"rules":{"masks":"sha512:'));
  await expect(exportTo(folder, { events })).rejects.toThrow('Another version of Countersign began the export');
});
