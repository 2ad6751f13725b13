import {
  approvalViewSchema,
  jsonValueSchema,
  eventViewSchema,
  pastErasureSchema,
  unreadableStreamSchema,
  openRunViewSchema,
  grantViewSchema,
  problemSchema,
  receiptSchema,
  stopViewSchema,
  toolCallViewSchema,
} from '@countersign/contracts';
import { roles } from '@countersign/commands';
import { z } from 'zod';

// The codes that only HTTP has. The contracts have the others.

export const meSchema = z
  .strictObject({
    principal: z.string().meta({ description: 'Calls belong to it, and so do refusals of requests.' }),
    tenant: z.string(),
    roles: z.array(z.enum(roles)),
    groups: z.array(z.string()),
    agentIds: z
      .array(z.string())
      .meta({ description: 'Globs of the agents that it may request for, in addition to its own principal.' }),
    credential: z.string().nullable().meta({
      description:
        'The id of the credential: `token:` and the first 16 hex digits of the SHA-256 of the token, or `oidc:`, the issuer and the `jti` or `sid`. Null: a session that has none.',
    }),
    expiresAt: z.iso
      .datetime({ precision: 3 })
      .nullable()
      .meta({ description: 'When the access token or the session ends. Null: the token has no end.' }),
  })
  .meta({ id: 'Me', description: 'The caller, as the server knows it.' });

const notEndedSchema = z
  .strictObject({ approvalId: z.string(), code: z.string(), detail: z.string() })
  .meta({ id: 'NotEnded', description: 'An approval in which the vote could not be ended, and the refusal.' });

export const endedPersonSchema = z
  .strictObject({
    principal: z.string().meta({ description: 'The person, such as `support-desk#kim`.' }),
    approvalIds: z.array(z.string()).meta({ description: 'The approvals in which votes of the person ended.' }),
    notEnded: z
      .array(notEndedSchema)
      .meta({ description: 'The approvals in which the vote could not be ended, and why.' }),
  })
  .meta({ id: 'EndedPerson', description: 'What ended with a person of a front end.' });

export const problemPageSchema = z
  .strictObject({
    code: z.string(),
    status: z.int(),
    title: z.string(),
    cause: z.string().meta({ description: 'Why a request is refused with this code.' }),
    remedy: z.string().meta({ description: 'What its sender can do.' }),
  })
  .meta({ id: 'ProblemPage', description: 'The cause of a code, and its remedy.' });

export const toolCallsSchema = z
  .strictObject({ calls: z.array(toolCallViewSchema) })
  .meta({ id: 'ToolCalls', description: 'The calls of one request, in its order.' });

export const approvalPageSchema = z
  .strictObject({
    approvals: z.array(approvalViewSchema),
    nextCursor: z.string().nullable(),
    position: z.int(),
  })
  .meta({ id: 'ApprovalPage', description: 'One page of approvals, and the position of the log that it shows.' });

export const toolCallPageSchema = z
  .strictObject({ calls: z.array(toolCallViewSchema), nextCursor: z.string().nullable(), position: z.int() })
  .meta({ id: 'ToolCallPage', description: 'One page of calls, and the position of the log that it shows.' });

export const openRunPageSchema = z
  .strictObject({ runs: z.array(openRunViewSchema), nextCursor: z.string().nullable() })
  .meta({
    id: 'OpenRunPage',
    description: 'One page of runs with open calls: an item for each agent and principal that has open calls in a run.',
  });

export const bulkResultsSchema = z
  .strictObject({
    results: z.array(
      z.strictObject({
        approvalId: z.string(),
        status: z.enum(['done', 'rejected', 'skipped', 'possible']),
        approval: approvalViewSchema.optional(),
        problem: problemSchema.optional(),
      }),
    ),
  })
  .meta({
    id: 'BulkResults',
    description:
      'What became of each approval; skipped: another one could not be answered; possible: a dry run, and the rules allow it now. Beyond 8 MiB of approvals a result comes without its approval: read it by its id.',
  });

export const answeredApprovalSchema = approvalViewSchema
  .extend({ grant: grantViewSchema.optional() })
  .meta({ id: 'AnsweredApproval', description: 'The approval, and the grant that remembers it.' });

export const grantPageSchema = z
  .strictObject({ grants: z.array(grantViewSchema), nextCursor: z.string().nullable(), position: z.int() })
  .meta({ id: 'GrantPage', description: 'One page of grants, and the position of the log that it shows.' });

export const cancelledRunSchema = z
  .strictObject({
    runId: z.string(),
    cancelled: z.array(z.string()),
    notCancelled: z.array(z.strictObject({ callId: z.string(), code: z.string(), detail: z.string() })),
  })
  .meta({ id: 'CancelledRun', description: 'Which open calls of the run were cancelled, and which were not.' });

export const renewedClaimSchema = z
  .strictObject({ attempt: z.int(), leaseUntil: z.string(), receipt: receiptSchema.exactOptional() })
  .meta({ id: 'RenewedClaim', description: 'Until when the claim holds now.' });

export const auditedCallSchema = z
  .strictObject({
    callId: z.string(),
    events: z.array(eventViewSchema),
    toolCall: toolCallViewSchema.nullable(),
  })
  .meta({ id: 'AuditedCall', description: 'The events of a call up to a moment, and the call as it stood then.' });

const timeSchema = z.iso.datetime({ precision: 3 });

const rightsSchema = z
  .strictObject({
    processId: z.string().meta({ description: 'The process that recorded it.' }),
    credential: z.string().exactOptional().meta({ description: 'The id of the credential.' }),
    principal: z.string().meta({ description: 'Whose credential it is.' }),
    roles: z.array(z.string()).meta({ description: 'Its roles.' }),
    groups: z.array(z.string()).meta({ description: 'Its groups.' }),
    agentIds: z.array(z.string()).meta({ description: 'Globs of the agents that it may request for.' }),
    more: z.int().exactOptional().meta({ description: 'How many groups and agents are left out. Absent: none.' }),
    owner: z.string().exactOptional().meta({ description: 'The person responsible for the agent.' }),
    maxAssurance: z.string().exactOptional().meta({ description: 'How sure a front end may be of its people.' }),
  })
  .meta({ id: 'RightsAt', description: 'What one credential could do.' });

const personAtSchema = z
  .strictObject({
    principal: z.string().meta({ description: 'The person.' }),
    groups: z.array(z.string()).meta({ description: 'The groups that the policy gives them.' }),
    delegates: z
      .array(z.strictObject({ to: z.string(), from: z.string(), until: z.string() }))
      .meta({ description: 'Who could answer in their place at the moment.' }),
  })
  .meta({ id: 'PersonAt', description: 'A person of the policy file, with those who could answer for them.' });

export const auditStateSchema = z
  .strictObject({
    asOf: timeSchema.meta({ description: 'The moment.' }),
    position: z.int().meta({ description: 'The last event that counts; 0: none.' }),
    policy: z
      .strictObject({
        policyVersion: z.string().meta({ description: 'The digest of the policy.' }),
        activatedBy: z.string().meta({ description: 'Who put it in force.' }),
        activatedAt: timeSchema.meta({ description: 'When.' }),
      })
      .meta({ id: 'PolicyAt', description: 'The policy in force.' })
      .nullable()
      .meta({ description: 'Null: the built-in policy, which no event names.' }),
    calls: z
      .array(toolCallViewSchema)
      .meta({ description: 'The calls that were not settled, with their approvals. Hidden values are masked.' }),
    grants: z
      .array(grantViewSchema)
      .meta({ description: 'The grants that were in force or waited for a second person.' }),
    rights: z.array(rightsSchema).meta({ description: 'What each credential of the tokens file could do.' }),
    people: z.array(personAtSchema).meta({
      description: 'The people that the policy in force names. Their groups count beside those of their credentials.',
    }),
    stops: z.array(stopViewSchema).meta({
      description: 'The recorded stops that were in force, also those of the operator that cover the tenant.',
    }),
    unreadable: z.array(z.int()).meta({
      description: 'The positions of events up to then that cannot be read. What they say is not counted.',
    }),
    complete: z.boolean().meta({
      description: 'False: there were more calls, grants or unreadable events than 1,000, which are shown.',
    }),
  })
  .meta({ id: 'StateAt', description: 'How the tenant stood at a moment, by the log.' });

export const erasuresSchema = z
  .strictObject({ erasures: z.array(pastErasureSchema).meta({ description: 'In the order of the log; empty: none.' }) })
  .meta({ id: 'PastErasures', description: 'The erasures that were about a subject, or about a call.' });

export const unreadableSchema = z
  .strictObject({ streams: z.array(unreadableStreamSchema) })
  .meta({ id: 'UnreadableStreams', description: 'The streams that are set aside, in the order of the log.' });

export const healthSchema = z
  .strictObject({
    status: z.literal('ok'),
    version: z.string().meta({ description: 'The version of Countersign.' }),
    commit: z.string().nullable().meta({
      description: 'The commit of the build. Null: it was built outside of a checkout, or from changed files.',
    }),
    node: z.strictObject({ version: z.string(), safe: z.boolean(), update: z.string().optional() }).meta({
      description:
        'The Node that the process runs on. `safe` is false if it lacks a security fix; `update` is then the oldest release of Node to update to.',
    }),
  })
  .meta({ id: 'Health' });

export const readinessSchema = z
  .strictObject({
    status: z.literal('ready'),
    checks: z.record(z.string(), z.looseObject({ status: z.enum(['ok', 'failing']) })),
  })
  .meta({ id: 'Readiness' });

const provenEventSchema = z
  .strictObject({
    index: z.int().meta({ description: "The leaf of the tenant's tree, from 0." }),
    entry: z.string().meta({ description: 'The RFC 8785 form of the entry: the bytes of the leaf.' }),
    body: z
      .strictObject({
        data: jsonValueSchema.meta({ description: 'The data as stored.' }),
        metadata: jsonValueSchema.meta({ description: 'The metadata as stored.' }),
      })
      .nullable()
      .meta({ description: 'As stored, with sensitive values sealed. Null: it is in the entry as a hash alone.' }),
    proof: z.string().meta({ description: 'A `tlog-proof` of C2SP.' }),
  })
  .meta({ id: 'ProvenEvent', description: 'An event, and the proof that it is in the log.' });

export const callProofSchema = z
  .strictObject({
    format: z.literal('countersign-proof/1'),
    tenant: z.string(),
    origin: z.string().meta({ description: 'The origin of the log.' }),
    callId: z.string(),
    vkey: z
      .string()
      .nullable()
      .meta({ description: 'The key of the log. It proves nothing unless you kept it elsewhere.' }),
    checkpoint: z.string().meta({ description: 'The signed checkpoint that the proofs lead to.' }),
    events: z
      .array(provenEventSchema)
      .meta({ description: 'The events of the call, of its batch and of its grants, in the order of the log.' }),
    keyChanges: z.array(provenEventSchema).optional().meta({
      description:
        'The changes of the log key up to the checkpoint: each event `LogKeyChanged`, with its proof in a checkpoint that both keys signed. Absent: there was none.',
    }),
    policies: z
      .array(
        z.strictObject({ policyVersion: z.string(), content: jsonValueSchema }).meta({
          id: 'ProvenPolicy',
          description: 'A policy that judged the call. Its version is the hash of its content.',
        }),
      )
      .meta({ description: 'The policies that judged the call.' }),
    later: z.literal('not excluded').meta({ description: 'Only the whole log can show that nothing followed.' }),
  })
  .meta({
    id: 'CallProof',
    description: 'A proof that the events of a call are in the log. `countersign audit verify` reads it.',
  });
