import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApprovalView, FieldError, JsonObject, SchemaNote, ToolCallView } from '@countersign/contracts';
import { createApi } from '../testing/api.js';
import type { Api, Reply } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

let world: World;
let api: Api;
beforeAll(async () => {
  world = await openWorld();
  api = createApi(world);
});
afterAll(() => world.close());

const cases = join(import.meta.dirname, '..', '..', '..', '..', 'test', 'cases');
const casesOf = (file: string): unknown => JSON.parse(readFileSync(join(cases, file), 'utf8'));

interface CallCase {
  readonly arguments: JsonObject;
  /** The statuses that are right. */
  readonly status: readonly number[];
  readonly prefer?: number;
  readonly errorAt?: string;
  /** The keyword may stay unchecked where the call says so. */
  readonly orNoteAt?: string;
}

interface SchemaCase {
  readonly name: string;
  readonly about: string;
  readonly schema?: JsonObject;
  readonly schemaText?: string;
  readonly masked?: readonly string[];
  readonly calls: readonly CallCase[];
}

type Answer = Reply<{ readonly calls?: readonly ToolCallView[]; readonly errors?: readonly FieldError[] }>;

let runs = 0;
const request = (name: string, schemaText: string, args: string): Promise<Answer> => {
  runs += 1;
  const call = `"toolCallId":"c","toolName":${JSON.stringify(name)},"needsApproval":true`;
  const raw = `{"runId":"schemas-${runs}","calls":[{${call},"arguments":${args},"toolSchema":${schemaText}}]}`;
  return api.send('POST', '/v1/tool-calls', { raw });
};

const pointersOf = (notes: readonly SchemaNote[] = []): readonly string[] => notes.map(({ pointer }) => pointer);
const isMask = (value: unknown): boolean => typeof value === 'string' && value.startsWith('[masked sha256:');

/** Whether the value at a pointer, or an object or list that holds it, is masked. */
function isMaskedAt(value: unknown, steps: readonly string[]): boolean {
  const [step, ...rest] = steps;
  if (isMask(value)) return true;
  if (step === undefined || typeof value !== 'object' || value === null) return false;
  return isMaskedAt((value as Readonly<Record<string, unknown>>)[step], rest);
}

/** The fault of an answer; undefined when it has none. */
async function problemOf({ masked = [] }: SchemaCase, call: CallCase, { status, body }: Answer) {
  const [recorded] = body.calls ?? [];
  const isNoted = call.orNoteAt !== undefined && pointersOf(recorded?.schemaNotes).includes(call.orNoteAt);
  const isRight = call.prefer === undefined ? call.status.includes(status) : status === call.prefer;
  if (!isRight && !(status === 201 && isNoted)) return { status, body };
  if (status === 201) {
    const path = `/v1/approvals/${recorded?.approval?.approvalId}`;
    const { body: shown } = await api.send<ApprovalView>('GET', path, { as: 'ann' });
    const seen = masked.filter((pointer) => !isMaskedAt(shown.arguments, pointer.slice(1).split('/')));
    const isSame = JSON.stringify(shown.schemaNotes) === JSON.stringify(recorded?.schemaNotes);
    return seen.length === 0 && isSame ? undefined : { seen, shown };
  }
  const at = `calls.0.arguments${(call.errorAt ?? '').replaceAll('/', '.')}`;
  return body.errors?.some(({ path }) => path.startsWith(at)) === true ? undefined : { body };
}

describe('a tool schema as tools write it', () => {
  it.each(casesOf('tool-schemas.json') as SchemaCase[])('$name: $about', async (one) => {
    for (const call of one.calls) {
      const text = one.schemaText ?? JSON.stringify(one.schema);
      const answer = await request(one.name, text, JSON.stringify(call.arguments));
      expect([call.arguments, await problemOf(one, call, answer)]).toEqual([call.arguments, undefined]);
    }
  });
});

interface FormatCase {
  readonly format: string;
  readonly value: unknown;
  readonly valid: boolean;
}

it('a format is checked in arguments and in an edit alike', async () => {
  const wrong: unknown[] = [];
  for (const { format, value, valid } of casesOf('formats.json') as FormatCase[]) {
    const schema = JSON.stringify({ properties: { a: { format } } });
    const asked = await request('formats', schema, JSON.stringify({ a: value }));
    const { body } = await request('formats', schema, '{}');
    const approvalId = body.calls?.[0]?.approval?.approvalId;
    const edit = { decision: { type: 'edit', arguments: { a: value } } };
    const { status } = await api.send('POST', `/v1/approvals/${approvalId}/responses`, { as: 'ann', body: edit });
    if (asked.status !== (valid ? 201 : 422) || status !== (valid ? 200 : 422)) wrong.push([format, value]);
  }
  expect(wrong).toEqual([]);
});

interface NumberCase {
  readonly text: string;
  readonly taken: boolean;
  readonly why: string;
  readonly where?: 'schema';
  readonly keyword?: string;
}

it.each(casesOf('numbers.json') as NumberCase[])('the number $text ($why): taken $taken', async (one) => {
  const { text, taken, where, keyword = '' } = one;
  const schema = where === 'schema' ? `{"properties":{"n":{"${keyword}":${text}}}}` : '{}';
  const { status, body } = await request('numbers', schema, where === 'schema' ? '{"n":0}' : `{"n":${text}}`);
  expect(status).toBe(taken ? 201 : 400);
  if (taken && where !== 'schema') expect(body.calls?.[0]?.arguments['n'] === Number(text)).toBe(true);
});

interface IdCase {
  readonly about: string;
  readonly id: string;
  readonly taken: boolean;
  readonly beside?: string;
}

it.each(casesOf('ids.json') as IdCase[])('an id of a call, $about: taken $taken', async ({ id, taken, beside }) => {
  runs += 1;
  const calls = [id, beside ?? 'sibling'].map((toolCallId) => ({ toolCallId, toolName: 'get_x', arguments: {} }));
  const body = { runId: `ids-${runs}`, calls };
  const { status, body: answer }: Answer = await api.send('POST', '/v1/tool-calls', { body });
  expect(status).toBe(taken ? 201 : 400);
  if (!taken) expect(answer.errors?.map(({ path }) => path)).toEqual(['calls.0.toolCallId']);
});
