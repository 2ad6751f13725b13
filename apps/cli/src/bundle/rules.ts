import { currentSchemaVersion, eventSchemas, maskRulesDigest } from '@countersign/contracts';
import type { StoredEvent } from '@countersign/contracts';
import { eventColumns } from '@countersign/exports';
import type { Column } from '@countersign/exports';

/** The rules that the views of a bundle were made with. A later version judges the views by these, not by its own. */
export interface BundleRules {
  /** The digest of the rules by which values were masked. */
  readonly masks: string;
  /** The columns of the tables, in their order. */
  readonly columns: readonly string[];
  /** The newest schema version of events that could be read. */
  readonly schemaVersion: number;
  /** The types of events that could be read. */
  readonly types: readonly string[];
}

/** The rules of this version. */
export function currentRules(): BundleRules {
  return {
    masks: maskRulesDigest(),
    columns: eventColumns.map(({ name }) => name),
    schemaVersion: currentSchemaVersion,
    types: Object.keys(eventSchemas),
  };
}

/** Returns the columns of these names; undefined where this version does not know one of them, or one is there twice. */
export function columnsOf({ columns: names }: Pick<BundleRules, 'columns'>): readonly Column[] | undefined {
  const columns = names.flatMap((name) => eventColumns.find((column) => column.name === name) ?? []);
  return columns.length === names.length && new Set(names).size === names.length ? columns : undefined;
}

/** Returns whether a version with these rules could read the event, by its type and its schema version. */
export function couldRead({ schemaVersion, types }: BundleRules, { type, metadata }: StoredEvent): boolean {
  const version = (metadata as { readonly schemaVersion?: unknown } | null)?.schemaVersion;
  return types.includes(type) && typeof version === 'number' && version <= schemaVersion;
}
