import type { Actor, Result } from '@countersign/commands';
import type { EraseSubject, ErasureView } from '@countersign/contracts';

/** Erases the sensitive values of a subject by destroying its key. */
export interface Erasures {
  readonly preview: (actor: Actor, request: EraseSubject) => Promise<ErasureView>;
  readonly erase: (actor: Actor, request: EraseSubject, commandId: string) => Promise<Result<ErasureView>>;
}
