import { useMemo } from 'react';
import type { ApprovalView, JsonObject } from '@countersign/contracts';
import type { ApprovalsClient } from '../client/approvals-client.js';
import { readApproval } from '../client/approvals.js';
import { useClient } from '../live/use-client.js';
import { useLoaded } from '../live/use-loaded.js';
import type { Loaded } from '../live/use-loaded.js';
import { inexactNumberIn } from './form/exact-numbers.js';
import { formOf } from './form/fields.js';
import type { Form } from './form/fields.js';
import { parseObject, schemaProblems } from './schema-problems.js';
import type { Parsed } from './schema-problems.js';

/** The arguments that a text has, and what is wrong with them. */
export interface Edited {
  /** Undefined: the text is no JSON yet. */
  readonly value: JsonObject | undefined;
  /** It is another value than before, and nothing is wrong with it. */
  readonly isFine: boolean;
  /** The value as a form; undefined: it has none, or the schema is on its way. */
  readonly form: Form | undefined;
  readonly problems: readonly string[];
  /** What is said where there is no problem. */
  readonly fine: string;
}

/** Reads a text as arguments, and holds them against the schema of the tool. */
export function useEdited(text: string, { approvalId, hiddenValues }: ApprovalView, original: JsonObject): Edited {
  const client = useClient();
  const hidden = useMemo(() => hiddenValues.map(({ pointer }) => pointer), [hiddenValues]);
  const loaded = useLoaded(approvalId, () => readSchema(client, approvalId));
  const isLoading = loaded.value === undefined && loaded.problem === undefined;
  const schema = loaded.value ?? null;
  const parsed = useMemo(() => parseExactly(text), [text]);
  const value = parsed.status === 'ok' ? parsed.value : undefined;
  const problems = useMemo(
    () => (parsed.status === 'ok' ? schemaProblems(parsed.value, schema, hidden) : [parsed.problem]),
    [parsed, schema, hidden],
  );
  const form = useMemo(
    () => (value === undefined || isLoading ? undefined : formOf(value, schema, hidden, original)),
    [value, isLoading, schema, hidden, original],
  );
  const isSame = value !== undefined && JSON.stringify(value) === JSON.stringify(original);
  return { value, isFine: problems.length === 0 && !isSame, form, problems, fine: fineWords(loaded) };
}

/** A number that would become another one is none that the person has written. */
function parseExactly(text: string): Parsed {
  const parsed = parseObject(text);
  const inexact = parsed.status === 'ok' ? inexactNumberIn(text) : undefined;
  if (inexact === undefined) return parsed;
  return { status: 'wrong', problem: `The number ${inexact} cannot be kept exactly. Write it as a text.` };
}

/** The schema that the agent gave with the call; null when it gave none, or when it cannot be read now. */
async function readSchema(client: ApprovalsClient, approvalId: string): Promise<JsonObject | null> {
  const { argumentsSchema } = await readApproval(client, approvalId);
  return argumentsSchema ?? null;
}

/** The result for arguments without a problem. */
function fineWords({ value, problem }: Loaded<JsonObject | null>): string {
  if (problem !== undefined) return 'Valid JSON. The tool’s schema could not be read: the server checks it.';
  if (value === undefined) return 'Valid JSON. Reading the tool’s schema …';
  return value === null ? 'Valid JSON; the tool named no schema.' : 'Fits the tool’s schema.';
}
