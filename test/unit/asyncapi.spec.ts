import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { Parser } from '@asyncapi/parser';
import {
  currentSchemaVersion,
  createAsyncApiDocument,
  createMessageSchemas,
  eventTypes,
  requestMessageSchemas,
  toMaskedEventView,
  type RecordedEvent,
} from '@countersign/contracts';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

const root = join(import.meta.dirname, '..', '..');
const document = createAsyncApiDocument();
const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
ajv.addSchema({ $id: 'asyncapi', ...document });

/** The violations of a message according to a generated validator. */
const problemsOf = (message: string, part: 'payload' | 'headers', value: unknown) => {
  const valid = ajv.validate({ $ref: `asyncapi#/components/messages/${message}/${part}` }, value);
  return valid ? [] : ajv.errors!.map(({ instancePath, message: why }) => `${instancePath} ${why ?? ''}`);
};

/** A message checked only with the files under docs/schemas. */
const isValid = (topic: string, type: string, value: unknown): boolean => {
  const file = join(root, 'docs', 'schemas', topic, `${type}.v1.json`);
  const own = new Ajv2020({ strict: false });
  addFormats.default(own);
  return own.validate(JSON.parse(readFileSync(file, 'utf8')) as object, value);
};

describe('the JSON Schemas', () => {
  it('are the ones under docs, one for each type of each topic', () => {
    // `npm run asyncapi` writes them.
    const written = globSync('*/*.json', { cwd: join(root, 'docs', 'schemas') });
    const schemas = createMessageSchemas();
    expect(written.toSorted()).toEqual(
      Object.keys(schemas)
        .map((name) => `${name}.json`)
        .toSorted(),
    );
    expect(Object.keys(schemas)).toHaveLength(Object.keys(requestMessageSchemas).length + eventTypes.length);
    for (const [name, schema] of Object.entries(schemas)) {
      const text = readFileSync(join(root, 'docs', 'schemas', `${name}.json`), 'utf8');
      expect([name, JSON.parse(text)]).toEqual([name, JSON.parse(JSON.stringify(schema))]);
    }
  });

  it('are complete in themselves, and hold messages to their form', () => {
    const asked = { runId: 'run-1', calls: [{ toolCallId: 'call_1', toolName: 'delete_file', arguments: {} }] };
    expect(isValid('requests', 'ToolCallRequested', asked)).toBe(true);
    expect(isValid('requests', 'ToolCallRequested', { ...asked, approved: true })).toBe(false);
    expect(isValid('requests', 'ToolCallCancelled', asked)).toBe(false);
  });

  it.each(globSync(`libs/contracts/src/golden/*.v${String(currentSchemaVersion)}.json`, { cwd: root }))(
    'describe the event of %s',
    (file) => {
      const event = JSON.parse(readFileSync(join(root, file), 'utf8')) as RecordedEvent;
      expect(isValid('events', event.type, toMaskedEventView(event))).toBe(true);
      expect(isValid('events', event.type, { ...toMaskedEventView(event), data: {} })).toBe(false);
    },
  );
});

describe('the AsyncAPI document', () => {
  it('is valid AsyncAPI 3', async () => {
    const { document: parsed, diagnostics } = await new Parser().parse(JSON.stringify(document));
    expect(diagnostics.filter(({ severity }) => [0, 1].includes(severity))).toEqual([]);
    expect(parsed?.version()).toBe('3.0.0');
    expect(
      parsed
        ?.allChannels()
        .all()
        .map((channel) => channel.address()),
    ).toEqual([
      'countersign.requests.v1',
      'countersign.events.v1',
      'countersign.dead-letters.v1',
      'countersign.checkpoints.v1',
    ]);
  });

  it('is the one under docs', () => {
    // `npm run asyncapi` writes it.
    const written = readFileSync(join(root, 'docs', 'asyncapi.json'), 'utf8');
    expect(JSON.parse(written)).toEqual(JSON.parse(JSON.stringify(document)));
  });

  it('has every message of the topics, under the prefix that is asked for', () => {
    const types = [
      ...Object.keys(requestMessageSchemas).map((type) => `requests.${type}`),
      ...eventTypes.map((type) => `events.${type}`),
      'deadLetters.DeadLetter',
      'checkpoints.Checkpoint',
    ];
    expect(Object.keys(document.components.messages).toSorted()).toEqual(types.toSorted());
    expect(createAsyncApiDocument('acme').channels['requests']).toMatchObject({ address: 'acme.requests.v1' });
  });

  it.each(globSync(`libs/contracts/src/golden/*.v${String(currentSchemaVersion)}.json`, { cwd: root }))(
    'describes the event of %s',
    (file) => {
      const event = JSON.parse(readFileSync(join(root, file), 'utf8')) as RecordedEvent;
      expect(problemsOf(`events.${event.type}`, 'payload', toMaskedEventView(event))).toEqual([]);
      expect(problemsOf(`events.${event.type}`, 'payload', { ...toMaskedEventView(event), more: 1 })).not.toEqual([]);
    },
  );

  it('holds requests to their form', () => {
    const call = { toolCallId: 'call_1', toolName: 'delete_file', arguments: { path: '/x' } };
    const asked = { runId: 'run-1', calls: [call] };
    expect(problemsOf('requests.ToolCallRequested', 'payload', asked)).toEqual([]);
    expect(problemsOf('requests.ToolCallRequested', 'payload', { ...asked, approved: true })).not.toEqual([]);
    expect(problemsOf('requests.ToolCallRequested', 'payload', { runId: 'run-1', calls: [] })).not.toEqual([]);
    const about = { runId: 'run-1', toolCallId: 'call_1' };
    expect(problemsOf('requests.ApprovalRequested', 'payload', { ...about, reason: 'r' })).toEqual([]);
    expect(problemsOf('requests.ToolCallCancelled', 'payload', { runId: 'run-1', reason: 'r' })).toEqual([]);
    expect(problemsOf('requests.ToolCallCancelled', 'payload', about)).not.toEqual([]);
    const output = { ...about, status: 'succeeded', output: null };
    expect(problemsOf('requests.ToolOutputSubmitted', 'payload', output)).toEqual([]);
    expect(problemsOf('requests.ToolOutputSubmitted', 'payload', { ...output, error: 1 })).not.toEqual([]);
  });

  it('holds headers to CloudEvents, and to the type of their message', () => {
    const headers = {
      'content-type': 'application/json',
      ce_specversion: '1.0',
      ce_id: 'r-1',
      ce_source: '/agents/a',
      ce_type: 'ToolCallRequested',
      anything: 'else',
    };
    expect(problemsOf('requests.ToolCallRequested', 'headers', headers)).toEqual([]);
    expect(problemsOf('requests.ToolCallCancelled', 'headers', headers)).not.toEqual([]);
    expect(problemsOf('requests.ToolCallRequested', 'headers', { ...headers, ce_specversion: '0.3' })).not.toEqual([]);
  });
});
