import { describe, expect, it } from '@jest/globals';
import { given, history, stateAfter } from './testing/given.js';
import {
  answer,
  ask,
  cancel,
  deny,
  digest,
  digestOf,
  edit,
  editBy,
  expire,
  firstApproval,
  lapseApproval,
  minute,
  request,
  requestAllowed,
  requirement,
  respond,
  responded,
  responder,
  revealTo,
  secondApproval,
  stage,
  stored,
  verdict,
  withdraw,
} from './testing/fixtures.js';
import type { ToolCallCommand } from './tool-call.commands.js';
import { callState, currentApproval } from './tool-call.state.js';

const twoOf = { stages: [stage({ approve: 2 })] };
const recordedEdit = (letter = 'b') => ({
  type: 'edit' as const,
  arguments: { amount: letter },
  sensitive: [],
  salt: '00',
  verdict: verdict('allow'),
  requirement: null,
  clock: null,
});

describe('RespondToApproval', () => {
  it('approves, and says until when the call may be claimed', () => {
    given(history(request()))
      .when(respond('alice'))
      .then([responded('alice')]);
  });

  it('neither approves nor edits what cannot be read, and denies it', () => {
    const unreadable = history(request()).map((event) =>
      event.type === 'ToolCallRequested' ? { ...event, data: { ...event.data, salt: null } } : event,
    );
    for (const command of [respond('alice'), editBy('alice')]) {
      given(unreadable).when(command).thenRefused('digest-mismatch');
    }
    given(unreadable)
      .when(deny('alice'))
      .then([responded('alice', { decision: { type: 'deny' }, resolution: 'denied', executeBy: null })]);
  });

  it('gives an approved call no end where `never` is written out', () => {
    given(history(request({ executeByMs: 'never' })))
      .when(respond('alice'))
      .then([responded('alice', { executeBy: null })]);
  });

  it('denies', () => {
    given(history(request()))
      .when(deny('alice', { reason: 'too much', instruction: 'ask finance' }))
      .then([
        responded('alice', {
          decision: { type: 'deny' },
          reason: 'too much',
          instruction: 'ask finance',
          resolution: 'denied',
          executeBy: null,
        }),
      ]);
  });

  it('replaces the arguments and approves them', () => {
    given(history(request()))
      .when(editBy('alice'))
      .then([responded('alice', { decision: recordedEdit(), proposal: 2, actionDigest: digestOf('b') })]);
  });

  it('gives a result in place of a run, which then has no deadline', () => {
    given(history(request()))
      .when(answer('alice', 'done by hand'))
      .then([
        responded('alice', { decision: { type: 'answer', output: 'done by hand' }, proposal: 2, executeBy: null }),
      ]);
  });

  it('is refused for an approval that this call never had', () => {
    given([]).when(respond('alice')).thenRefused('unknown-approval');
    given(history(request()))
      .when(respond('alice', { approvalId: secondApproval }))
      .thenRefused('unknown-approval');
    given(history(requestAllowed())).when(respond('alice')).thenRefused('unknown-approval');
  });

  describe('after the resolution', () => {
    const winner = { resolution: 'approved', respondedBy: 'alice', respondedAt: stored(5), via: 'inbox' };

    it('is told who won, when and through which channel', () => {
      given(history(request(), respond('alice')))
        .when(deny('bob', { at: minute(6) }))
        .thenRefused('already-resolved', winner);
      given(history(request(), deny(responder('alice', { via: 'slack' }))))
        .when(respond('bob'))
        .thenRefused('already-resolved', { ...winner, resolution: 'denied', via: 'slack' });
    });

    it('is refused to the winner too, for the very same response', () => {
      given(history(request(), respond('alice')))
        .when(respond('alice'))
        .thenRefused('already-resolved', winner);
      given(history(request(), editBy('alice')))
        .when(editBy('alice'))
        .thenRefused('already-resolved', winner);
    });

    it('says that the call was cancelled', () => {
      given(history(request(), cancel()))
        .when(respond('alice'))
        .thenRefused('already-resolved', {
          resolution: 'cancelled',
          cancelledBy: 'agent',
          cancelledAt: stored(6),
          reason: 'no longer needed',
        });
    });

    it('says that the approval expired, also when a later round is pending', () => {
      const expired = { resolution: 'expired', expiredAt: stored(60) };
      const again = ask({ round: 2, approvalId: secondApproval, at: minute(61) });
      for (const events of [history(request(), expire()), history(request(), expire(), again)]) {
        given(events)
          .when(respond('alice', { at: minute(62) }))
          .thenRefused('expired', expired);
      }
    });

    it('says who won when the approval was not used in time', () => {
      given(history(request(), respond('alice'), lapseApproval(minute(65))))
        .when(deny('bob', { at: minute(70) }))
        .thenRefused('already-resolved', winner);
    });

    it('wins before a doubt about the person: an outsider learns that it is over', () => {
      given(history(request({ stages: [stage({ groups: ['ops'] })] }), respond('alice')))
        .when(respond(responder('eve', { groups: [] })))
        .thenRefused('already-resolved', winner);
    });
  });

  describe('at the deadline', () => {
    it('is refused from that millisecond on, also before the expiry is recorded', () => {
      const extra = { resolution: 'expired', expiredAt: stored(60) };
      const events = history(request());
      given(events)
        .when(respond('alice', { at: minute(60) }))
        .thenRefused('expired', extra);
      given(events)
        .when(respond('alice', { at: minute(60) - 1 }))
        .then([responded('alice', { respondedAt: '2026-01-01T00:59:59.999Z', executeBy: '2026-01-01T01:59:59.999Z' })]);
    });

    it('is taken where the policy holds the approval open', () => {
      const late = respond('alice', { at: minute(90) });
      const after = [responded('alice', { respondedAt: stored(90), executeBy: stored(150) })];
      given(history(request({ onTimeout: 'hold' })))
        .when(late)
        .then(after);
      given(history(request({ onTimeout: 'hold' }), expire()))
        .when(late)
        .then(after);
    });
  });

  describe('the right to answer', () => {
    const forOps = { stages: [stage({ groups: ['ops'] })] };

    it('is refused to a person of other groups, and says which are asked', () => {
      given(history(request(forOps)))
        .when(respond(responder('eve', { groups: ['sales'] })))
        .thenRefused('not-an-approver', { groups: ['ops'] });
    });

    it('is refused to a channel that is not sure enough of the person', () => {
      given(history(request({ minAssurance: 'medium' })))
        .when(respond(responder('alice', { assurance: 'low' })))
        .thenRefused('not-an-approver', { minAssurance: 'medium' });
      given(history(request({ minAssurance: 'medium' })))
        .when(respond('alice'))
        .then([responded('alice')]);
    });

    it.each([{ minAssurance: 'high' }, { requireSignature: true }] as const)(
      'is refused without a signature under %j, to every channel',
      (signing) => {
        for (const assurance of ['low', 'medium', 'high'] as const) {
          given(history(request(signing)))
            .when(respond(responder('alice', { assurance })))
            .thenRefused('signature-required', {});
        }
      },
    );

    it('has the assurance `high` by a signature alone', () => {
      given(history(request({})))
        .when(respond(responder('alice', { assurance: 'high' })))
        .then([responded('alice', { assurance: 'medium' })]);
    });

    it.each(['agent', ' Agent ', 'AGENT'])('is refused to the requester, here as "%s"', (principal) => {
      given(history(request())).when(respond(principal)).thenRefused('own-request');
    });

    it('is refused to the person who asked for this round', () => {
      given(history(requestAllowed(), ask({ requestedBy: 'alice', reach: 'any' })))
        .when(respond('alice'))
        .thenRefused('own-request');
    });

    it('is open to the requester when the policy turns four-eyes off', () => {
      given(history(request({ fourEyes: false })))
        .when(respond('agent'))
        .then([responded('agent')]);
    });
  });

  describe('the decision', () => {
    it('is refused for a decision that the requirement does not allow', () => {
      given(history(request({ allowedDecisions: ['approve', 'deny'] })))
        .when(editBy('alice'))
        .thenRefused('decision-not-allowed', { allowedDecisions: ['approve', 'deny'] });
    });

    it.each([null, '', '  ', '\u200b', '\u2800\u00a0', '\u3164\u202e', '\ufffc', '\u{1d159}'])(
      'is refused without the reason that the requirement wants, here %j',
      (reason) => {
        given(history(request({ requireReason: ['deny'] })))
          .when(deny('alice', { reason }))
          .thenRefused('reason-required');
      },
    );

    it('needs a reason only for the decisions named', () => {
      given(history(request({ requireReason: ['deny'] })))
        .when(respond('alice'))
        .then([responded('alice')]);
    });

    it('is refused when the person saw other arguments', () => {
      given(history(request()))
        .when(respond('alice', { actionDigest: digestOf('c') }))
        .thenRefused('digest-mismatch', { actionDigest: digest });
      given(history(request()))
        .when(respond('alice', { actionDigest: digest }))
        .then([responded('alice')]);
    });

    it('is refused when a colleague has edited the arguments meanwhile', () => {
      const events = history(request(twoOf), editBy('alice'));
      given(events)
        .when(respond('bob', { actionDigest: digest }))
        .thenRefused('digest-mismatch', { actionDigest: digestOf('b') });
      given(events)
        .when(respond('bob', { actionDigest: digestOf('b') }))
        .then([responded('bob', { proposal: 2, actionDigest: digestOf('b') })]);
    });

    it('is refused for another person’s answer where it names the arguments alone', () => {
      const events = history(request(twoOf), answer('alice', 'paid'));
      given(events)
        .when(respond('bob', { actionDigest: digest }))
        .thenRefused('digest-mismatch');
      const proposalDigest = { shown: 'sha256:2', current: 'sha256:2' };
      given(events)
        .when(respond('bob', { actionDigest: digest, proposalDigest }))
        .thenAccepted({ proposal: 2, resolution: 'approved' });
      given(events)
        .when(deny('bob', { actionDigest: digest }))
        .thenAccepted({ proposal: 2 });
    });

    it('is refused for an answer that cannot be read any more, which can be denied', () => {
      const events = history(request(twoOf), answer('alice', '[key missing]'));
      given(events)
        .when(respond('bob', { isAnswerUnreadable: true }))
        .thenRefused('digest-mismatch');
      given(events)
        .when(deny('bob', { isAnswerUnreadable: true }))
        .thenAccepted({ proposal: 2 });
    });

    it('is refused twice from the same person for the same arguments', () => {
      const events = history(request(twoOf), respond('alice'));
      for (const again of [respond('alice'), deny('alice'), respond(' ALICE '), editBy('alice', edit('a'))]) {
        given(events).when(again).thenRefused('already-voted');
      }
    });

    it('is refused for edited arguments that the policy blocks', () => {
      const blocked = { outcome: 'block', verdict: verdict('block'), reason: 'never that much' } as const;
      given(history(request()))
        .when(editBy('alice', edit('b', { judgement: blocked, invalid: [{ path: '/amount', message: 'number' }] })))
        .thenRefused('blocked-by-policy', { verdict: verdict('block') });
    });

    it('is refused for edited arguments that the schema of the tool refuses', () => {
      const invalid = [{ path: '/amount', message: 'must be a number' }];
      given(history(request()))
        .when(editBy('alice', edit('b', { invalid })))
        .thenRefusal({ code: 'invalid-arguments', errors: invalid });
    });
  });

  describe('an edit whose arguments need more than was asked', () => {
    const demanding = (stages = [stage({ approve: 2, groups: ['ops'] })]) =>
      edit('b', {
        judgement: { outcome: 'require', verdict: verdict(), requirement: requirement({ stages }) },
      });

    it('puts the requirement of the edited arguments in force', () => {
      const events = history(request(), editBy('alice', demanding()));
      expect(callState(stateAfter(events))).toBe('awaiting_approval');
      given(events)
        .when(respond(responder('eve', { groups: ['sales'] })))
        .thenRefused('not-an-approver');
      given(events)
        .when(respond('bob'))
        .then([responded('bob', { proposal: 2, actionDigest: digestOf('b') })]);
    });

    it('is refused to a person who could not approve those arguments', () => {
      const bySecurity = [stage({ groups: ['security'] })];
      given(history(request()))
        .when(editBy('alice', demanding(bySecurity)))
        .thenRefused('not-an-approver');
    });

    it('records nothing of a requirement that asks no more than was asked', () => {
      const same = edit('b', {
        judgement: { outcome: 'require', verdict: verdict('allow'), requirement: requirement() },
      });
      given(history(request()))
        .when(editBy('alice', same))
        .then([responded('alice', { decision: recordedEdit(), proposal: 2, actionDigest: digestOf('b') })]);
    });
  });
});

describe('WithdrawResponse', () => {
  const withdrawn = {
    type: 'ResponseWithdrawn',
    data: { approvalId: firstApproval, withdrawnBy: 'alice', withdrawnAt: stored(6), ends: 'vote' },
  } as const;

  it('takes a vote back while the approval is pending', () => {
    given(history(request(twoOf), respond('alice')))
      .when(withdraw('alice'))
      .then([withdrawn]);
  });

  it('no longer counts the vote, and lets the person vote again', () => {
    const events = history(request(twoOf), respond('alice'), withdraw('alice'));
    given(events)
      .when(respond('bob'))
      .then([responded('bob', { resolution: 'pending', executeBy: null })]);
    given(events)
      .when(deny('alice'))
      .then([responded('alice', { decision: { type: 'deny' }, resolution: 'denied', executeBy: null })]);
  });

  it('adds nothing when it is repeated', () => {
    given(history(request(twoOf), respond('alice'), withdraw('alice')))
      .when(withdraw('alice'))
      .thenNothing();
  });

  it('that names a response ends it alone, and leaves the denial that the person gave under another name', () => {
    const four = { stages: [stage({ approve: 3, deny: 2 })] };
    const events = history(request(four), deny('desk#al'), respond('alice'));
    given(events)
      .when({ ...withdraw('alice'), aliases: ['desk#al'], response: 2 })
      .then([withdrawn]);
    given(events)
      .when({ ...withdraw('alice'), aliases: ['desk#al'], response: 1 })
      .then([{ ...withdrawn, data: { ...withdrawn.data, castBy: 'desk#al' } }]);
  });

  it('is refused where no answer of the person stands', () => {
    const events = history(request(twoOf), respond('alice'));
    given(events).when(withdraw('carol')).thenRefused('unknown-approval');
    given([]).when(withdraw('alice')).thenRefused('unknown-approval');
  });

  it('is refused after the resolution', () => {
    given(history(request(), respond('alice')))
      .when(withdraw('alice'))
      .thenRefused('already-resolved');
    given(history(request(twoOf), respond('alice'), cancel()))
      .when(withdraw('alice'))
      .thenRefused('already-resolved');
  });

  it('is refused after the deadline', () => {
    given(history(request(twoOf), respond('alice')))
      .when(withdraw('alice', minute(60)))
      .thenRefused('expired');
    given(history(request(twoOf), respond('alice'), expire()))
      .when(withdraw('alice', minute(61)))
      .thenRefused('expired');
  });

  it('ends the proposal that the vote had made, so that the request is asked about again', () => {
    const events = history(request(twoOf), editBy('alice'), withdraw('alice'));
    expect(events.at(-1)).toEqual({ ...withdrawn, data: { ...withdrawn.data, ends: 'proposal' } });
    given(events)
      .when(respond('bob'))
      .then([responded('bob', { proposal: 3, resolution: 'pending', executeBy: null })]);
  });

  it('ends an answer with the vote that gave it, also when others agreed to it', () => {
    const three = { stages: [stage({ approve: 3 })] };
    const votes = [answer('alice', 'x'), respond('bob'), withdraw('alice'), respond('carol'), respond('dave')];
    expect(callState(stateAfter(history(request(three), ...votes)))).toBe('awaiting_approval');
    expect(callState(stateAfter(history(request(three), ...votes, respond('bob'))))).toBe('approved');
  });

  it('leaves a proposal to its author where another vote for it is withdrawn', () => {
    const three = { stages: [stage({ approve: 3 })] };
    const votes = [answer('alice', 'x'), respond('bob'), withdraw('bob'), respond('carol'), respond('dave')];
    expect(callState(stateAfter(history(request(three), ...votes)))).toBe('succeeded');
  });
});

describe('RevealValues', () => {
  const data = { approvalId: firstApproval, revealedBy: 'alice', pointers: ['/password'] };
  const revealed = { type: 'ValuesRevealed', data: { ...data, via: 'inbox', revealedAt: stored(5) } } as const;

  it('records who looked at which values, and changes nothing but their number', () => {
    given(history(request())).when(revealTo('alice')).then([revealed]);
    const after = stateAfter([...history(request()), revealed]);
    expect(currentApproval(after)).toEqual({ ...currentApproval(stateAfter(history(request()))), reveals: 1 });
  });

  it('records nothing when nothing is hidden', () => {
    given(history(request()))
      .when(revealTo('alice', { pointers: [] }))
      .then([]);
  });

  it('refuses the requester, a person of another group, and every person once the approval has ended', () => {
    given(history(request())).when(revealTo('agent')).thenRefused('own-request');
    given(history(request({ stages: [stage({ groups: ['security'] })] })))
      .when(revealTo('alice'))
      .thenRefused('not-an-approver');
    given(history(request(), deny('bob')))
      .when(revealTo('alice'))
      .thenRefused('already-resolved');
    given(history(request(), expire())).when(revealTo('alice')).thenRefused('expired');
  });
});

describe('a rule whose denial ends the run', () => {
  const ending = { denyEndsRun: true } as const;
  const last = (...commands: readonly ToolCallCommand[]) => history(...commands).at(-1)?.data;

  it('says so in the denial, and in nothing else', () => {
    expect(last(request(ending), deny('alice'))).toMatchObject({ resolution: 'denied', endsRun: true });
    expect(last(request(), deny('alice'))).not.toHaveProperty('endsRun');
    expect(last(request(ending), respond('alice'))).not.toHaveProperty('endsRun');
  });

  it('does not say so before enough people have denied', () => {
    const two = { ...ending, stages: [stage({ deny: 2 })] };
    expect(last(request(two), deny('alice'))).not.toHaveProperty('endsRun');
    expect(last(request(two), deny('alice'), deny('bob'))).toHaveProperty('endsRun', true);
  });

  it('applies after an edit into its arguments as well', () => {
    const judgement = { outcome: 'require', verdict: verdict(), requirement: requirement(ending) } as const;
    const edited = editBy('alice', edit('b', { judgement }));
    const two = { stages: [stage({ approve: 2 })] };
    const denial = deny('bob', { actionDigest: digestOf('b') });
    expect(last(request(two), edited, denial)).toMatchObject({ resolution: 'denied', endsRun: true });
  });
});
