/** Selects pending approvals. Several filters select what passes all of them. */
export interface ManyOptions {
  readonly run?: string;
  readonly batch?: string;
  /** A glob. */
  readonly tool?: string;
  readonly agent?: string;
  readonly reason?: string;
  readonly instruction?: string;
  readonly digest?: string;
  readonly yes?: boolean;
  /** Refused together with a filter: a grant needs one approval. */
  readonly remember?: string;
}

/** Returns whether a filter is given, so that the command is for many approvals. */
export function isForMany({ run, batch, tool, agent }: ManyOptions): boolean {
  return [run, batch, tool, agent].some((filter) => filter !== undefined);
}
