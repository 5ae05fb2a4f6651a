/** Mail: through a server by SMTP, or into an outbox that a developer reads. Start with `smtp-mailer.ts`. */
export { MailError, type MailErrorCode } from './errors.ts';
export { parseSender, type Sender } from './message.ts';
export { makeNoMailer } from './no-mailer.ts';
export { makeOutbox, type Outbox, type OutboxMessage, type OutboxOptions } from './outbox.ts';
export { makeSmtpMailer, type SmtpMailer, type SmtpMailerOptions } from './smtp-mailer.ts';
export { parseSmtpUrl, type SmtpServer } from './smtp-url.ts';
