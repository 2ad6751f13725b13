import type { GrantTerms, GrantViewState } from '@countersign/contracts';
import type { Grant } from '@countersign/domain';

/** The filters of `GrantReads.list`, joined by "and". */
export interface GrantsQuery {
  readonly state?: GrantViewState | undefined;
  readonly toolName?: string | undefined;
  /** Default 100. */
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** One page of grants, the newest first. */
export type GrantsPage =
  | {
      readonly status: 'page';
      readonly grants: readonly Grant[];
      readonly nextCursor: string | null;
      readonly position: number;
    }
  | { readonly status: 'invalid-cursor' };

/**
 * The standing grants. Only the newest calls that used a grant are kept here; the grant's stream has all of them. Times
 * are epoch milliseconds.
 */
export interface GrantReads {
  /**
   * The grants of a tool that are neither revoked nor expired, the oldest first. An index only: the grant's own stream
   * decides. It reads no file but the first time.
   */
  readonly live: (tenant: string, toolName: string, atMs: number) => readonly Grant[];
  /** The number of grants of a tenant that are neither revoked nor expired. */
  readonly liveCount: (tenant: string, atMs: number) => number;
  /** The terms of the grants for this run alone that are neither revoked nor expired. */
  readonly ofRun: (tenant: string, runId: string, atMs: number) => readonly GrantTerms[];
  readonly find: (tenant: string, grantId: string) => Grant | undefined;
  readonly list: (tenant: string, query: GrantsQuery, atMs: number) => GrantsPage;
}
