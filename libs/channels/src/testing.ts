export { channelContract } from './channel.contract.js';
export type { Answers, Forgery } from './testing/answers.js';
export { hostileTexts } from './testing/hostile-texts.js';
export { alice, sampleNotice } from './testing/notices.js';
export { mailConfigOf, openEmail, openMailServer } from './testing/opened.js';
export type { OpenedChannel } from './testing/opened.js';
export { openSlackServer } from './testing/slack-server.js';
export { openTelegramServer } from './testing/telegram-server.js';
export { openVendorServer } from './testing/vendor-server.js';
