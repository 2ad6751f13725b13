import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
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
  /** `file: group` of each schema that is refused, with the reason. */
  readonly refused: readonly string[];
}

/** Runs the tests of the matching files. A schema without a draft gets the one of its folder. */
export function runSuite(draft: string, files: string, options: { readonly assertsFormats: boolean }): SuiteResult {
  const result = { passed: 0, wrong: [] as string[], refused: [] as string[] };
  for (const file of globSync(files, { cwd: join(root, draft) }).toSorted()) {
    const groups = JSON.parse(readFileSync(join(root, draft, file), 'utf8')) as readonly Group[];
    for (const group of groups) runGroup(result, `${file}: ${group.description}`, withDraft(group, draft), options);
  }
  return result;
}

function withDraft(group: Group, draft: string): Group {
  const { schema } = group;
  if (draft !== 'draft7' || typeof schema !== 'object' || schema === null || '$schema' in schema) return group;
  return { ...group, schema: { $schema: 'http://json-schema.org/draft-07/schema#', ...(schema as JsonObject) } };
}

function runGroup(
  result: { passed: number; wrong: string[]; refused: string[] },
  name: string,
  { schema, tests }: Group,
  options: { readonly assertsFormats: boolean },
): void {
  const prepared = prepareSchema(schema, options);
  if (prepared.status === 'refused') {
    result.refused.push(`${name}: ${prepared.pointer} ${prepared.reason}`);
    return;
  }
  for (const { description, data, valid } of tests) {
    const { status } = checkValue(prepared.schema, data);
    if (status === (valid ? 'valid' : 'invalid')) result.passed += 1;
    else result.wrong.push(`${name}: ${description}: ${status}`);
  }
}
