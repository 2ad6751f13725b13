// The words of the model and of what it is compared with.

/** People who can be asked together. */
export type Group = 'support' | 'managers' | 'security';

/** The groups that may fill a seat. `anyone`: every approver, also one without a group. */
export type Asked = Group | 'anyone';

/** The principals that request calls, and the names of agents that they use. */
export type Agent = 'agent' | 'other';

/** So many people of these groups agree, or so many refuse. */
export interface Stage {
  readonly groups: readonly Asked[];
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
  /** Absent: it asks people. */
  readonly outcome?: 'allow' | 'block';
  /** How it binds the calls of a step in which it asks people. */
  readonly batch?: 'any-asks-all' | 'sequential';
  /** Responses with a low assurance do not count. */
  readonly assured?: true;
  /** Responses without a signature of a passkey do not count. Nobody signs in a world. */
  readonly signed?: true;
  /** A denial ends the run. */
  readonly endsRun?: true;
  /** The rules that it stands for, each of which must be satisfied. */
  readonly parts?: readonly Rule[];
}

/** How much an agent may ask of people. Identical calls are asked about once. */
export interface Quotas {
  readonly pending: number;
  readonly denials: number;
  readonly coolDown: number;
}

/** The rules of a policy, by ascending `from`. */
export interface Policy {
  readonly rules: readonly Rule[];
  readonly quotas: Quotas | null;
}

/** The people, by principal, with their groups. */
export type People = Readonly<Record<string, readonly Group[]>>;

/** A person of the front end: the groups that it says they have, those that the policy file gives them, and how sure it is of them. */
export interface DeskPerson {
  readonly told: readonly Group[];
  readonly filed: readonly Group[];
  readonly assurance: 'low' | 'medium';
}

/** `to` responds in the place of `from`, between two moments in seconds from the start. */
export interface Delegation {
  readonly from: string;
  readonly to: string;
  readonly begin: number;
  readonly end: number;
}

/** Every amount can be paid with a hidden value, such as the code of a card. An amount of -1 is left out. */
export interface Arguments {
  readonly amount: number;
  readonly secret: string | null;
}

/** What people agree to: arguments, or an answer in place of the run. */
export type Content =
  | ({ readonly kind: 'run' } & Arguments)
  | { readonly kind: 'answer'; readonly text: string; readonly secret: string | null };

/** A call in a request. `inside`: the call in which it runs. */
export interface AskedCall extends Arguments {
  readonly call: number;
  readonly inside: number | null;
  /** Absent: `pay`. */
  readonly tool?: 'pay' | 'gift';
}

/**
 * The calls of one step. `batch`: the name of an all-or-nothing batch. `inTurn`: otherwise, one after another. `as`: the name of
 * the agent. `wants`: it wants people to be asked, also about what is recorded and allowed.
 */
export interface Request {
  readonly type: 'request';
  readonly by: Agent;
  readonly as: Agent;
  readonly calls: readonly AskedCall[];
  readonly batch: string | null;
  readonly inTurn: boolean;
  readonly wants: boolean;
  readonly expiresIn: number | null;
  readonly onBehalfOf: string | null;
}

/** What a person wants to be granted with an approval. */
export interface Remember {
  readonly match: 'exact' | 'tool';
  readonly scope: 'run' | 'agent';
  readonly expiresIn: number;
  readonly maxUses: number | null;
}

export interface Respond {
  readonly type: 'respond';
  readonly call: number;
  readonly by: string;
  readonly decision: Decision;
  /**
   * What was shown: the current proposal, the first one, either with the instructions of others (`whole`, and `early`: before there was
   * one), or nothing.
   */
  readonly seen: 'current' | 'first' | 'whole' | 'early' | 'none';
  readonly instruction: string | null;
  readonly remember: Remember | null;
}

/** One approval of several calls, all or none. */
export interface ApproveAll {
  readonly type: 'approve-all';
  readonly calls: readonly number[];
  readonly by: string;
  readonly seen: 'current' | 'first';
}

/** The calls that a grant is for: all, small amounts, those whose hidden value is a guess, or exactly these arguments. */
export type Match = { readonly of: 'any' | 'small' } | { readonly of: 'guess' | 'exact'; readonly is: Arguments };

export interface Grant {
  readonly type: 'grant';
  readonly by: string;
  readonly match: Match;
  readonly run: number | null;
  readonly as: Agent | null;
  /** The only principal whose calls it covers. */
  readonly of: Agent | null;
  readonly expiresIn: number;
  readonly maxUses: number | null;
}

/**
 * One step of a person, an agent, a worker, an operator or the clock. `call` is the number of a call, `grant` that of a
 * grant by its creation. `output`: the client ran the call itself. `extend`: the worker renews the lease of its claim with this attempt. `drift`: the clock of
 * the machine is ahead of that of the store. `renew` replaces the token of a person by another one. `restart`: the process ends and starts again. A change of the policy file takes a second. While the service is stopped no person can respond.
 *
 * `desk`: the front end gets a new token for people of these groups, the one that it has is for fewer groups, or it has none. `end-person`:
 * a person has left the front end. `identify`: a principal is another name of a person.
 */
export type Command =
  | Request
  | { readonly type: 'ask'; readonly call: number; readonly by: Agent; readonly expiresIn: number | null }
  | Respond
  | ApproveAll
  | { readonly type: 'withdraw'; readonly call: number; readonly by: string }
  | { readonly type: 'wait' | 'stop'; readonly seconds: number }
  | { readonly type: 'cancel'; readonly call: number; readonly by: Agent }
  | { readonly type: 'cancel-run'; readonly run: number; readonly by: Agent }
  | { readonly type: 'claim'; readonly call: number; readonly key: string }
  | { readonly type: 'extend'; readonly call: number; readonly attempt: number }
  | { readonly type: 'report'; readonly call: number }
  | { readonly type: 'output'; readonly call: number; readonly by: Agent }
  | { readonly type: 'reconcile'; readonly call: number; readonly as: 'succeeded' | 'retry' }
  | Grant
  | { readonly type: 'confirm' | 'revoke'; readonly grant: number; readonly by: string }
  | { readonly type: 'erase'; readonly of: Agent | null; readonly force: boolean }
  | { readonly type: 'remove' | 'renew'; readonly person: string }
  | { readonly type: 'restart' }
  | { readonly type: 'drift'; readonly seconds: number }
  | { readonly type: 'desk'; readonly does: 'open' | 'narrow'; readonly groups: readonly Group[] }
  | { readonly type: 'desk'; readonly does: 'close' }
  | { readonly type: 'end-person'; readonly person: string; readonly by: 'desk' | 'admin' }
  | { readonly type: 'identify'; readonly person: string; readonly as: string }
  | { readonly type: 'policy'; readonly policy: Policy };

/** What a person decides. `secret` of an edit: null drops the hidden value, and `kept` leaves its mask in its place. */
export type Decision =
  | { readonly type: 'approve' | 'deny' }
  | ({ readonly type: 'edit' } & Arguments)
  | { readonly type: 'answer'; readonly text: string; readonly secret: string | null };

/** What people see of arguments. */
export interface Seen {
  readonly amount: number;
  readonly hides: boolean;
}

/** What the product shows of a call. */
export interface Shown extends Seen {
  readonly state: string;
  readonly instruction: string | null;
  /** Its turn in its run has not come. */
  readonly waits: boolean;
  /** The number of the grant that covers it. */
  readonly grant: number | null;
  /** Its latest approval. */
  readonly approval: {
    readonly state: string;
    readonly round: number;
    readonly proposal: number;
    readonly content:
      ({ readonly kind: 'run' } & Seen) | { readonly kind: 'answer'; readonly text: string; readonly hides: boolean };
    readonly digest: string;
    /** The digest of the arguments is that of the request. */
    readonly isRequest: boolean;
    /** The words for the agent that it shows, which the votes that count have. */
    readonly instructions: readonly string[];
    /** In whose place the last vote was given. */
    readonly inPlaceOf: string | null;
  } | null;
}

export interface ShownGrant {
  /** It may cover a call now. */
  readonly isActive: boolean;
  readonly uses: number;
}

/**
 * What the product answered: a refusal's code, or null; the claim, if it gave one; whether the person of a response may
 * decide, as it was shown to them before; and each call and grant as it is shown afterwards.
 */
export interface Answer {
  readonly refused: string | null;
  readonly claim?: Arguments & { readonly attempt: number; readonly instruction: string | null };
  readonly mayDecide?: boolean;
  readonly calls: ReadonlyMap<number, Shown>;
  readonly grants: readonly ShownGrant[];
  /** A hidden value that a person was shown. */
  readonly leaked: string | null;
}
