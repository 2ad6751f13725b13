import { jest } from '@jest/globals';

// Real processes, brokers and browsers share two cores with whatever else runs: one more try, and the first one's error is shown.
jest.retryTimes(1, { logErrorsBeforeRetry: true });
