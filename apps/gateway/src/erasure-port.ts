import type { Actor, Result } from '@countersign/commands';
import type { EraseSubject, ErasuresQuery, ErasureView, PastErasure } from '@countersign/contracts';

/** Erases the sensitive values of a subject by destroying its key. */
export interface Erasures {
  /** The recorded erasures of a tenant, in the order of the log. @throws the signal's reason. */
  readonly past: (tenant: string, query: ErasuresQuery, signal: AbortSignal) => Promise<readonly PastErasure[]>;
  readonly preview: (actor: Actor, request: EraseSubject) => Promise<ErasureView>;
  readonly erase: (actor: Actor, request: EraseSubject, commandId: string) => Promise<Result<ErasureView>>;
}
