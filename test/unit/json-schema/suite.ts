import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fitOf } from '@countersign/audit/testing';
import type { JsonObject, JsonValue } from '@countersign/contracts';
import { checkValue, prepareSchema } from '@countersign/json-schema';

const root = join(import.meta.dirname, '..', '..', 'json-schema-suite');

interface Group {
  readonly description: string;
  readonly schema: JsonValue;
  readonly tests: readonly { readonly description: string; readonly data: JsonValue; readonly valid: boolean }[];
}

/** The results of the tests of one draft. */
export interface SuiteResult {
  readonly passed: number;
  /** `file: group: test` of each wrong verdict. */
  readonly wrong: readonly string[];
  /** `file: group` of each schema that is not checked whole, with the first reason. */
  readonly noted: readonly string[];
}

/** What the judge of a log says of the schemas that are checked whole: how many times it is sure, and when it is wrong. */
export function judgeSuite(draft: string, files: string): { readonly sure: number; readonly wrong: readonly string[] } {
  const result = { sure: 0, wrong: [] as string[] };
  for (const { name, group } of groupsOf(draft, files)) {
    const { schema, tests } = group;
    const prepared = prepareSchema(schema, { assertsFormats: false });
    const isWhole = prepared.status === 'prepared' && prepared.schema.notes.length === 0;
    if (!isWhole || !isObject(schema)) continue;
    for (const { description, data, valid } of tests) {
      const fit = fitOf(schema, data);
      if (fit === 'unsure') continue;
      if ((fit === 'fits') === valid) result.sure += 1;
      else result.wrong.push(`${name}: ${description}: ${fit}`);
    }
  }
  return result;
}

function isObject(schema: JsonValue): schema is JsonObject {
  return typeof schema === 'object' && schema !== null && !Array.isArray(schema);
}

/** Runs the tests of the matching files. A schema without a draft gets the one of its folder. */
export function runSuite(draft: string, files: string, options: { readonly assertsFormats: boolean }): SuiteResult {
  const result = { passed: 0, wrong: [] as string[], noted: [] as string[] };
  for (const { name, group } of groupsOf(draft, files)) runGroup(result, name, group, options);
  return result;
}

function* groupsOf(draft: string, files: string): Iterable<{ readonly name: string; readonly group: Group }> {
  for (const file of globSync(files, { cwd: join(root, draft) }).toSorted()) {
    const groups = JSON.parse(readFileSync(join(root, draft, file), 'utf8')) as readonly Group[];
    for (const group of groups) yield { name: `${file}: ${group.description}`, group: withDraft(group, draft) };
  }
}

const unnamedIn: Readonly<Record<string, string>> = {
  draft7: 'http://json-schema.org/draft-07/schema#',
  draft6: 'http://json-schema.org/draft-06/schema#',
  draft4: 'http://json-schema.org/draft-04/schema#',
};

function withDraft(group: Group, draft: string): Group {
  const { schema } = group;
  const $schema = unnamedIn[draft];
  const isOther = typeof schema !== 'object' || schema === null || '$schema' in schema;
  return $schema === undefined || isOther ? group : { ...group, schema: { $schema, ...(schema as JsonObject) } };
}

function runGroup(
  result: { passed: number; wrong: string[]; noted: string[] },
  name: string,
  { schema, tests }: Group,
  options: { readonly assertsFormats: boolean },
): void {
  const prepared = prepareSchema(schema, options);
  if (prepared.status === 'refused') throw new Error(`${name}: ${prepared.reason}`);
  const [note] = prepared.schema.notes;
  if (note !== undefined) result.noted.push(`${name}: ${note.pointer} ${note.why}`);
  for (const { description, data, valid } of tests) {
    const { status } = checkValue(prepared.schema, data);
    // A part that is not checked refuses nothing.
    if (note !== undefined && !valid && status === 'valid') continue;
    if (status === (valid ? 'valid' : 'invalid')) result.passed += 1;
    else result.wrong.push(`${name}: ${description}: ${status}`);
  }
}
