import { describe, expect, it } from '@jest/globals';
import type { Requirement } from '@countersign/contracts';
import { given, history, stateAfter } from './testing/given.js';
import {
  answer,
  cancel,
  claim,
  deny,
  digestOf,
  edit,
  editBy,
  expire,
  firstApproval,
  lapseApproval,
  lapseClaim,
  minute,
  minuteMs,
  reconcile,
  remind,
  renew,
  report,
  request,
  requestAllowed,
  respond,
  responded,
  responder,
  secondApproval,
  stage,
  stored,
  withdraw,
} from './testing/fixtures.js';
import { dueAt, dueCommand } from './tool-call.deadlines.js';
import { toolCallDecider } from './tool-call.decider.js';
import { callState, currentApproval } from './tool-call.state.js';
import { toStored } from './time.js';
import { upcomingOf } from './upcoming.js';

const expired = (n: number) => ({
  type: 'ApprovalExpired' as const,
  data: { approvalId: firstApproval, expiredAt: stored(n) },
});

describe('ExpireApproval', () => {
  it('ends an unanswered approval, and the call with it', () => {
    given(history(request()))
      .when(expire())
      .then([expired(60)]);
    expect(callState(stateAfter(history(request(), expire())))).toBe('expired');
  });

  it.each([
    ['before the deadline', history(request()), expire(minute(60) - 1)],
    ['where `never` is written out', history(request({ expiresInMs: 'never' })), expire(minute(9999))],
    ['after an answer', history(request(), respond('alice')), expire()],
    ['after it has expired', history(request(), expire()), expire()],
    ['after a cancellation', history(request(), cancel()), expire()],
    ['for an approval that is not the current one', history(request()), expire(minute(60), secondApproval)],
    ['for a call without an approval', history(requestAllowed()), expire()],
    ['for a call that was not requested', [], expire()],
  ])('is refused %s', (_, events, command) => {
    given(events).when(command).thenRefused('not-due');
  });

  describe('where the policy escalates', () => {
    const escalating: Partial<Requirement> = {
      stages: [stage({ groups: ['ops'] })],
      onTimeout: 'escalate',
      escalation: [
        { to: ['managers'], expiresInMs: 20 * minuteMs },
        { to: ['board'], expiresInMs: 5 * minuteMs },
      ],
    };
    const escalated = (level: number, to: string[], at: number, until: number) => ({
      type: 'ApprovalEscalated' as const,
      data: { approvalId: firstApproval, level, to, requirement: 0, expiresAt: stored(until), escalatedAt: stored(at) },
    });

    it('asks the next level, which has its whole time however late that is recorded', () => {
      given(history(request(escalating)))
        .when(expire(minute(61)))
        .then([escalated(1, ['managers'], 61, 81)]);
      given(history(request(escalating), expire()))
        .when(expire(minute(80)))
        .then([escalated(2, ['board'], 80, 85)]);
    });

    it('expires after the last level', () => {
      given(history(request(escalating), expire(), expire(minute(80))))
        .when(expire(minute(85)))
        .then([expired(85)]);
      given(history(request({ onTimeout: 'escalate' })))
        .when(expire())
        .then([expired(60)]);
    });

    it('asks again in a stage whose voter may not respond any more, and records that the vote ended', () => {
      const stages = [stage({ groups: ['ops'] }), stage({ groups: ['legal'] })];
      const left = { respondedBy: 'olga', onBehalfOf: null, groups: null, names: ['olga'] };
      const voted = history(request({ ...escalating, stages }), respond(responder('olga', { groups: ['ops'] })));
      given(voted)
        .when({ ...expire(), voters: [left] })
        .thenAccepted({ to: ['managers'], endedVotes: ['olga'] });
      const after = stateAfter(voted);
      const decision = toolCallDecider.decide({ ...expire(), voters: [left] }, after);
      const events = decision.status === 'accepted' ? decision.events : [];
      const max = responder('max', { groups: ['managers'] });
      given([...voted, ...events])
        .when(respond(max, { at: minute(61) }))
        .thenAccepted({ resolution: 'pending' });
      given([...voted, ...events])
        .when(respond(responder('lea', { groups: ['legal'] }), { at: minute(61) }))
        .thenRefused('not-an-approver');
    });

    it('adds the new approvers to those of the stage that is asked', () => {
      const events = history(request(escalating), expire());
      const at = minute(70);
      const change = { respondedAt: stored(70), executeBy: stored(130) };
      given(events)
        .when(respond(responder('max', { groups: ['managers'] }), { at }))
        .then([responded('max', { ...change, groups: ['managers'] })]);
      given(events)
        .when(respond('olga', { at }))
        .then([responded('olga', change)]);
      given(events)
        .when(respond(responder('bea', { groups: ['board'] }), { at }))
        .thenRefused('not-an-approver', { groups: ['ops', 'managers'] });
    });

    it('adds them to no other stage', () => {
      const stages = [stage({ groups: ['ops'] }), stage({ groups: ['security'] })];
      const max = responder('max', { groups: ['managers'] });
      given(history(request({ ...escalating, stages }), expire(), respond(max, { at: minute(61) })))
        .when(respond(responder('mia', { groups: ['managers'] }), { at: minute(62) }))
        .thenRefused('not-an-approver', { groups: ['security'] });
    });

    it('lets them stand in for any group of which one person each must agree', () => {
      const stages = [stage({ mode: 'all-of', groups: ['ops', 'security'] })];
      const max = responder('max', { groups: ['managers'] });
      const events = history(request({ ...escalating, stages }), respond('olga'), expire());
      expect(callState(stateAfter(events))).toBe('awaiting_approval');
      given(events)
        .when(respond(max, { at: minute(70) }))
        .then([responded('max', { groups: ['managers'], respondedAt: stored(70), executeBy: stored(130) })]);
    });

    it('keeps an approval that is open to every approver open to every approver', () => {
      const events = history(request({ ...escalating, stages: [stage()] }), expire());
      given(events)
        .when(respond(responder('eve', { groups: [] }), { at: minute(70) }))
        .then([responded('eve', { groups: [], respondedAt: stored(70), executeBy: stored(130) })]);
    });
  });

  it('holds the approval open without a deadline where the policy says so', () => {
    const held = {
      approvalId: firstApproval,
      level: 1,
      to: [],
      requirement: 0,
      expiresAt: null,
      escalatedAt: stored(60),
    };
    const events = history(request({ onTimeout: 'hold' }));
    given(events)
      .when(expire())
      .then([{ type: 'ApprovalEscalated', data: held }]);
    given(history(request({ onTimeout: 'hold' }), expire()))
      .when(expire(minute(999)))
      .thenRefused('not-due');
  });

  describe('where the policy says in words that silence approves', () => {
    const silent: Partial<Requirement> = { onTimeout: 'allow' };
    const two: Partial<Requirement> = { ...silent, stages: [stage({ approve: 2, deny: 2 })] };

    it('approves automatically and cites the rule', () => {
      given(history(request({ ...silent, risk: 'medium' })))
        .when(expire())
        .then([
          responded('policy', {
            via: 'policy',
            groups: [],
            assurance: 'low',
            automatic: true,
            respondedAt: stored(60),
            executeBy: stored(120),
            reason: `No person answered in time; rule "refunds" of policy ${digestOf('f')} then approves.`,
          }),
        ]);
      expect(callState(stateAfter(history(request(silent), expire())))).toBe('approved');
    });

    it('approves where an approval was there but the quorum was not', () => {
      expect(callState(stateAfter(history(request(two), respond('alice'), expire())))).toBe('approved');
    });

    it('approves up to ten seconds after the deadline, and fails closed later: the server was away', () => {
      const events = history(request(silent));
      const last = minute(60) + 10_000;
      given(events).when(expire(last)).thenAccepted({ automatic: true, resolution: 'approved' });
      given(events)
        .when(expire(last + 1))
        .thenAccepted({ expiredAt: toStored(last + 1) });
    });

    it('fails closed where the clock was set forward while people were asked', () => {
      given(history(request(silent)))
        .when({ ...expire(), isTimeUnsure: true })
        .then([expired(60)]);
    });

    it('passes on no instruction of a person who was not enough', () => {
      const instructed = respond('alice', { instruction: 'then send the list' });
      expect(stateAfter(history(request(two), instructed, expire()))).toMatchObject({ instruction: null });
    });

    it('records which votes did not count any more', () => {
      const left = { respondedBy: 'alice', onBehalfOf: null, groups: null, names: ['alice'] };
      const events = history(request(two), respond('alice'));
      given(events)
        .when({ ...expire(), voters: [left] })
        .thenAccepted({ automatic: true, resolution: 'approved', endedVotes: ['alice'] });
    });

    it('fails closed after the denial of a person who may not respond any more: they objected when they could', () => {
      const left = { respondedBy: 'alice', onBehalfOf: null, groups: null, names: ['alice'] };
      given(history(request(two), deny('alice')))
        .when({ ...expire(), voters: [left] })
        .then([expired(60)]);
    });

    it('fails closed after a denial that was withdrawn', () => {
      given(history(request(two), deny('alice'), withdraw('alice')))
        .when(expire())
        .then([expired(60)]);
    });

    it('fails closed at a high risk', () => {
      given(history(request({ ...silent, risk: 'high' })))
        .when(expire())
        .then([expired(60)]);
    });

    it.each([{ requireSignature: true }, { minAssurance: 'high' }] as const)(
      'fails closed under %j: silence has no signature',
      (signing) => {
        given(history(request({ ...silent, ...signing })))
          .when(expire())
          .then([expired(60)]);
      },
    );

    it.each([
      ['denied', deny('alice')],
      ['edited', editBy('alice')],
      ['edited, and left the arguments as they were', editBy('alice', edit('a'))],
      ['answered', answer('alice', 'x')],
    ])('fails closed when a person %s: that is not silence', (_, response) => {
      given(history(request(two), response))
        .when(expire())
        .then([expired(60)]);
      given(history(request(two), response, withdraw('alice')))
        .when(expire())
        .then([expired(60)]);
    });
  });
});

describe('RemindApprovers', () => {
  const reminding: Partial<Requirement> = { remindersMs: [10 * minuteMs, 20 * minuteMs, 90 * minuteMs] };
  const reminded = (nth: number, n: number) => ({
    type: 'ApproversReminded' as const,
    data: { approvalId: firstApproval, nth, remindedAt: stored(n) },
  });

  it('reminds at each time after the request', () => {
    given(history(request(reminding)))
      .when(remind(minute(10)))
      .then([reminded(1, 10)]);
    given(history(request(reminding), remind(minute(10))))
      .when(remind(minute(20)))
      .then([reminded(2, 20)]);
  });

  it('makes one of several that were missed', () => {
    given(history(request(reminding)))
      .when(remind(minute(25)))
      .then([reminded(2, 25)]);
  });

  it.each([
    ['before its time', history(request(reminding)), minute(9)],
    ['a second time', history(request(reminding), remind(minute(10))), minute(11)],
    ['where none is wanted', history(request()), minute(30)],
    ['once the approval has its resolution', history(request(reminding), respond('alice')), minute(10)],
    ['at the deadline, which comes first', history(request(reminding)), minute(60)],
    ['for a call that was not requested', [], minute(10)],
  ])('is refused %s', (_, events, at) => {
    given(events).when(remind(at)).thenRefused('not-due');
  });
});

describe('LapseApproval', () => {
  it('ends an approved call that was not claimed in time', () => {
    given(history(request(), respond('alice')))
      .when(lapseApproval(minute(65)))
      .then([{ type: 'ApprovalLapsed', data: { approvalId: firstApproval, lapsedAt: stored(65) } }]);
    expect(callState(stateAfter(history(request(), respond('alice'), lapseApproval(minute(65)))))).toBe('expired');
  });

  const idempotent = { idempotent: true };
  it.each([
    ['before its time', history(request(), respond('alice')), lapseApproval(minute(65) - 1)],
    ['while pending', history(request()), lapseApproval(minute(65))],
    ['for an allowed call', history(requestAllowed()), lapseApproval(minute(999))],
    [
      'where the right to run has no end',
      history(request({ executeByMs: 'never' }), respond('alice')),
      lapseApproval(minute(999)),
    ],
    ['during the execution', history(request(), respond('alice'), claim()), lapseApproval(minute(65))],
    [
      'for a call that was claimed in time and is claimable again',
      history(request({}, idempotent), respond('alice'), claim(), lapseClaim()),
      lapseApproval(minute(65)),
    ],
    ['for another approval', history(request(), respond('alice')), lapseApproval(minute(65), secondApproval)],
    ['twice', history(request(), respond('alice'), lapseApproval(minute(65))), lapseApproval(minute(66))],
    ['for a call that was not requested', [], lapseApproval(minute(65))],
  ])('is refused %s', (_, events, command) => {
    given(events).when(command).thenRefused('not-due');
  });
});

describe('in a log that was restored from a backup', () => {
  const restored = { isRestored: true, abandoned: 'restored' } as const;
  const unknown = { attempt: 1, reason: 'restored', unknownSince: stored(5) };

  it('an approval ends before its time, where it was not used', () => {
    const lapse = { ...lapseApproval(minute(5)), isRestored: true } as const;
    given(history(request(), respond('alice')))
      .when(lapse)
      .then([{ type: 'ApprovalLapsed', data: { approvalId: firstApproval, lapsedAt: stored(5) } }]);
    given(history(request(), respond('alice'), claim()))
      .when(lapse)
      .thenRefused('not-due');
    given(history(request())).when(lapse).thenRefused('not-due');
  });

  it.each([
    ['claimed', history(requestAllowed(), claim())],
    ['claimed, and its tool is idempotent', history(requestAllowed({ idempotent: true }), claim())],
    ['claimable again', history(requestAllowed({ idempotent: true }), claim(), lapseClaim())],
  ])('the outcome of a call is unknown that is %s', (_, events) => {
    given(events)
      .when({ ...lapseClaim(minute(5)), ...restored })
      .then([{ type: 'ExecutionOutcomeUnknown', data: unknown }]);
  });

  it.each([
    ['without a claim', history(requestAllowed()), 1],
    ['after the report', history(requestAllowed(), claim(), report()), 1],
    ['for another attempt', history(requestAllowed(), claim()), 2],
    ['for a call that was not requested', [], 1],
  ])('no outcome is lost %s', (_, events, attempt) => {
    given(events)
      .when({ ...lapseClaim(minute(5), attempt), ...restored })
      .thenRefused('not-due');
  });
});

describe('LapseClaim', () => {
  it('makes the outcome unknown, because the tool may have run', () => {
    given(history(requestAllowed(), claim()))
      .when(lapseClaim())
      .then([
        {
          type: 'ExecutionOutcomeUnknown',
          data: { attempt: 1, reason: 'The lease of resolver-1 ended without a report.', unknownSince: stored(11) },
        },
      ]);
  });

  it('makes the call of a tool declared idempotent claimable again', () => {
    given(history(requestAllowed({ idempotent: true }), claim()))
      .when(lapseClaim())
      .then([{ type: 'ExecutionLapsed', data: { attempt: 1, lapsedAt: stored(11) } }]);
  });

  it.each([
    ['during the lease', history(requestAllowed(), claim()), lapseClaim(minute(11) - 1)],
    ['during a renewed lease', history(requestAllowed(), claim(), renew()), lapseClaim(minute(11))],
    ['for another attempt', history(requestAllowed(), claim()), lapseClaim(minute(11), 2)],
    ['without a claim', history(requestAllowed()), lapseClaim()],
    ['after the report', history(requestAllowed(), claim(), report()), lapseClaim()],
    ['twice', history(requestAllowed(), claim(), lapseClaim()), lapseClaim()],
    ['for a call that was not requested', [], lapseClaim()],
  ])('is refused %s', (_, events, command) => {
    given(events).when(command).thenRefused('not-due');
  });
});

describe('the next deadline', () => {
  const reminding = { remindersMs: [20 * minuteMs, 10 * minuteMs] };

  it.each([
    ['nothing is recorded', [], null],
    ['an approval is pending: its expiry', history(request()), { kind: 'expiry', atMs: minute(60) }],
    ['a reminder comes first', history(request(reminding)), { kind: 'reminder', atMs: minute(10) }],
    [
      'a reminder is out: the next one',
      history(request(reminding), remind(minute(10))),
      { kind: 'reminder', atMs: minute(20) },
    ],
    [
      'all reminders are out: the expiry',
      history(request(reminding), remind(minute(30))),
      { kind: 'expiry', atMs: minute(60) },
    ],
    ['an approval waits for ever', history(request({ expiresInMs: 'never' })), null],
    ['an approval is held open', history(request({ onTimeout: 'hold' }), expire()), null],
    ['a call is allowed', history(requestAllowed()), null],
    ['a call is approved', history(request(), respond('alice')), { kind: 'execute-by', atMs: minute(65) }],
    ['a call is approved for ever', history(request({ executeByMs: 'never' }), respond('alice')), null],
    ['a call is executing', history(requestAllowed(), claim()), { kind: 'lease', atMs: minute(11) }],
    ['the lease was renewed', history(requestAllowed(), claim(), renew()), { kind: 'lease', atMs: minute(11.5) }],
    ['a call is denied', history(request(), deny('alice')), null],
    ['a call has its result', history(requestAllowed(), claim(), report()), null],
    ['the outcome is unknown', history(requestAllowed(), claim(), lapseClaim()), null],
    [
      'a claim in time was released',
      history(request(), respond('alice'), claim(), lapseClaim(), reconcile('retry')),
      null,
    ],
  ])('when %s', (_, events, expected) => {
    expect(dueAt(stateAfter(events))).toEqual(expected);
  });

  it('names the command, which is then accepted', () => {
    for (const [events, at, type] of [
      [history(request()), minute(60), 'ExpireApproval'],
      [history(request(reminding)), minute(10), 'RemindApprovers'],
      [history(request(), respond('alice')), minute(65), 'LapseApproval'],
      [history(requestAllowed(), claim()), minute(11), 'LapseClaim'],
    ] as const) {
      const command = dueCommand(stateAfter(events), at);
      expect(command?.type).toBe(type);
      expect(command !== null && toolCallDecider.decide(command, stateAfter(events)).status).toBe('accepted');
      expect(dueCommand(stateAfter(events), at - 1)).toBeNull();
    }
  });

  it('expires rather than reminds when both are over', () => {
    expect(dueCommand(stateAfter(history(request(reminding))), minute(60))).toEqual(expire());
  });

  it('names none where nothing is recorded', () => {
    expect(dueCommand(stateAfter([]), minute(60))).toBeNull();
  });
});

describe('business hours', () => {
  // startMs is a Thursday at midnight; Paris is one hour ahead of UTC.
  const businessHours = { zone: 'Europe/Paris', days: ['mon', 'tue'], from: '08:00', to: '18:00' } as const;
  const inHours = { businessHours: { ...businessHours, days: [...businessHours.days] } };
  const monday = (time: string): string => `2026-01-05T${time}:00.000Z`;
  const tuesday = (time: string): string => `2026-01-06T${time}:00.000Z`;
  const at = (time: string): number => Date.parse(time);
  const escalation = [{ to: ['managers'], expiresInMs: 90 * minuteMs }];
  const withLevel: Partial<Requirement> = { ...inHours, onTimeout: 'escalate', escalation };

  it('a deadline counts from the next opening', () => {
    const [, asked] = history(request(inHours));
    expect(asked).toMatchObject({ type: 'ApprovalRequested', data: { expiresAt: monday('08:00') } });
    expect(asked?.data).not.toHaveProperty('remindAt');
  });

  it('the next level of an escalation counts in them too', () => {
    const events = history(request(withLevel), expire(at(monday('16:30'))));
    expect(events.at(-1)).toMatchObject({ type: 'ApprovalEscalated', data: { expiresAt: tuesday('08:00') } });
  });

  it('reminders are recorded as times, and fire then', () => {
    const events = history(request({ ...inHours, remindersMs: [40 * minuteMs, 10 * minuteMs] }));
    expect(events.at(-1)).toMatchObject({ data: { remindAt: [monday('07:40'), monday('07:10')] } });
    expect(dueAt(stateAfter(events))).toEqual({ kind: 'reminder', atMs: at(monday('07:10')) });
    given(events)
      .when(remind(at(monday('07:10')) - 1))
      .thenRefused('not-due');
    given(events)
      .when(remind(at(monday('07:10'))))
      .then([{ type: 'ApproversReminded', data: { approvalId: firstApproval, nth: 1, remindedAt: monday('07:10') } }]);
  });

  it('set the time of the next deadline', () => {
    const approval = currentApproval(stateAfter(history(request({ ...withLevel, remindersMs: [10 * minuteMs] }))));
    expect(approval === undefined ? [] : upcomingOf(approval)).toEqual([
      { kind: 'reminder', at: monday('07:10'), to: [] },
      { kind: 'escalation', at: monday('08:00'), to: ['managers'] },
      { kind: 'expiry', at: monday('09:30'), to: [] },
    ]);
  });

  it('silence approves in them only', () => {
    const events = history(request({ ...inHours, onTimeout: 'allow', risk: 'low' }));
    given(events)
      .when(expire(at(monday('08:00')) - 1))
      .thenRefused('not-due');
    const decision = toolCallDecider.decide(expire(at(monday('08:00'))), stateAfter(events));
    expect(decision).toMatchObject({ events: [{ data: { automatic: true, respondedAt: monday('08:00') } }] });
  });

  it('the right to run an approved call counts at any time', () => {
    const events = history(request(inHours), respond('alice'));
    expect(events.at(-1)).toMatchObject({ data: { executeBy: stored(65) } });
  });

  it('`never` stays never', () => {
    expect(history(request({ ...inHours, expiresInMs: 'never' })).at(-1)).toMatchObject({ data: { expiresAt: null } });
  });
});
