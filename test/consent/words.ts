// The words of the model and of what it is compared with.

/** People who can be asked together. */
export type Group = 'support' | 'managers' | 'security';

/** So many people of these groups agree, or so many refuse. */
export interface Stage {
  readonly groups: readonly Group[];
  readonly approve: number;
  readonly deny: number;
}

/** What one rule of a policy asks for. Times in seconds. */
export interface Rule {
  readonly id: string;
  /** It judges amounts from this one on, up to the next rule. */
  readonly from: number;
  readonly stages: readonly Stage[];
  readonly expiresIn: number;
  readonly atEnd: 'deny' | 'hold' | 'allow' | 'escalate';
  readonly escalation: { readonly to: Group; readonly expiresIn: number } | null;
  readonly isHigh: boolean;
}

/** The rules of a policy, by ascending `from`. */
export type Policy = readonly Rule[];

/** The people, by principal, with their groups. */
export type People = Readonly<Record<string, readonly Group[]>>;

/** What people agree to: an amount that is paid, or an answer in place of the run. */
export type Content =
  { readonly kind: 'run'; readonly amount: number } | { readonly kind: 'answer'; readonly text: string };

/** One step of a person, an agent, a worker, an operator or the clock. `call` is the number of a call. */
export type Command =
  | {
      readonly type: 'request';
      readonly call: number;
      readonly amount: number;
      readonly expiresIn: number | null;
      readonly onBehalfOf: string | null;
    }
  | { readonly type: 'ask'; readonly call: number; readonly expiresIn: number | null }
  | {
      readonly type: 'respond';
      readonly call: number;
      readonly by: string;
      readonly decision: Decision;
      readonly seen: 'current' | 'first' | 'none';
      readonly instruction: string | null;
    }
  | { readonly type: 'withdraw'; readonly call: number; readonly by: string }
  | { readonly type: 'wait'; readonly seconds: number }
  | { readonly type: 'cancel'; readonly call: number }
  | { readonly type: 'claim'; readonly call: number; readonly key: string }
  | { readonly type: 'report'; readonly call: number }
  | { readonly type: 'reconcile'; readonly call: number; readonly as: 'succeeded' | 'retry' }
  | { readonly type: 'remove'; readonly person: string }
  | { readonly type: 'identify'; readonly person: string; readonly as: string }
  | { readonly type: 'policy'; readonly policy: Policy };

/** What a person decides. */
export type Decision =
  | { readonly type: 'approve' | 'deny' }
  | { readonly type: 'edit'; readonly amount: number }
  | { readonly type: 'answer'; readonly text: string };

/** What the product shows of a call. */
export interface Shown {
  readonly state: string;
  readonly amount: number;
  readonly instruction: string | null;
  /** Its latest approval. */
  readonly approval: {
    readonly state: string;
    readonly round: number;
    readonly content: Content;
    readonly digest: string;
  } | null;
}

/** What the product answered: a refusal's code, or null; the claim, if it gave one; and each call as it is shown afterwards. */
export interface Answer {
  readonly refused: string | null;
  readonly claim?: { readonly amount: number; readonly attempt: number; readonly instruction: string | null };
  readonly calls: ReadonlyMap<number, Shown>;
}
