import type { ReactNode } from 'react';
import type { ApprovalView, ResponseView } from '@countersign/contracts';
import { progressLines, upcomingWords } from '@countersign/text';
import type { ProgressLine } from '@countersign/text';
import { useNow } from '../live/use-now.js';
import { responseWords } from '../text/words.js';
import { Marked } from '../ui/marked.js';
import { In } from '../ui/time.js';

const statusWords = { done: 'Done', current: 'Now', later: 'Then' } as const satisfies Record<
  ProgressLine['status'],
  string
>;

/** The people who must agree: each stage and who is missing, the responses, and the result without an answer. */
export function People({ approval }: { approval: ApprovalView }): ReactNode {
  const { requirement, responses, upcoming } = approval;
  return (
    <section aria-labelledby="card-people">
      <h3 id="card-people">Who decides</h3>
      <ol className="cs-stages" aria-label="Stages">
        {progressLines(approval).map(({ status, words }, index) => (
          <li key={index} data-status={status}>
            <span className="cs-stage-status">{statusWords[status]}</span> {words}
          </li>
        ))}
      </ol>
      {requirement.fourEyes && <p className="cs-muted">The requester’s own answer does not count.</p>}
      {responses.length > 0 && (
        <ul className="cs-responses" aria-label="Responses">
          {responses.map((response) => (
            <Response key={`${response.respondedBy} ${response.respondedAt}`} response={response} />
          ))}
        </ul>
      )}
      {upcoming.length > 0 && (
        <>
          <p className="cs-label">Without an answer</p>
          <ul className="cs-upcoming" aria-label="Without an answer">
            {upcoming.map((one, index) => (
              <li key={index}>
                <In time={one.at} />: {upcomingWords(one)}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function Response({ response }: { response: ResponseView }): ReactNode {
  const nowMs = useNow();
  return (
    <li data-counted={response.counted}>
      {responseWords(response, nowMs)}
      {response.reason !== null && (
        <>
          : <Marked text={response.reason} />
        </>
      )}
      {!response.counted && <span className="cs-muted"> (no longer counts: the arguments or the answer changed)</span>}
    </li>
  );
}
