import { jest } from '@jest/globals';

// Real sockets and timers share two cores with whatever else runs: one more try. The first one's error is shown, and the
// reporter names the test at the end.
jest.retryTimes(1, { logErrorsBeforeRetry: true });
