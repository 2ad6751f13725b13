import type { EventData, Requirement } from '@countersign/contracts';

type AskedSchema = Pick<EventData<'ToolCallRequested'>, 'toolSchemaHash' | 'schemaNotes'>;

/**
 * Why a rule that demands a checked schema refuses a call: it has no schema, or a part of it was not checked. Undefined:
 * the rule does not refuse it.
 */
export function uncheckedSchema(
  { requireCheckedSchema }: Requirement,
  { toolSchemaHash, schemaNotes = [] }: AskedSchema,
): string | undefined {
  if (requireCheckedSchema !== true) return undefined;
  if (toolSchemaHash === null) return 'must be there, because the policy demands a schema that is checked whole';
  const [first] = schemaNotes;
  if (first === undefined) return undefined;
  const { pointer, why } = first;
  return `cannot be checked whole, as the policy demands: ${pointer === '' ? 'the schema' : pointer} ${why}`;
}
