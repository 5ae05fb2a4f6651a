/** The ways to the operator: mail to each address, and a post to a web address. */

import type { TestedChannel } from '@freehold/directory';
import type { Mail } from '../applications/mail.ts';
import { openMail } from '../applications/mail.ts';
import { makeGuardedFetch } from '../network/guarded-fetch.ts';
import type { AlertSettings } from '../settings/alert-settings.ts';
import { type Settings, SettingsError } from '../settings/settings.ts';

export const ALERTS_TEST_USAGE = 'npm start -- alerts-test';

/** A text for people, and the same for programs. It holds no secret and names no person. */
export interface AlertMessage {
  readonly subject: string;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface AlertChannel {
  /** `mail` or `webhook`: its name in the operations log and in the state. */
  readonly name: 'mail' | 'webhook';
  /** Rejects when the message was not taken over. */
  send(message: AlertMessage): Promise<void>;
}

const PATIENCE_MS = 10_000;

/** Makes the channels of the settings; none where the operator set none. */
export function openChannels(
  { mail, webhook }: AlertSettings,
  mailer: Mail['mailer'],
  patienceMs = PATIENCE_MS,
): readonly AlertChannel[] {
  return [
    ...(mail.length === 0
      ? []
      : [
          {
            name: 'mail' as const,
            send: async ({ subject, text }: AlertMessage) => {
              for (const to of mail) await mailer.send({ to, subject, text });
            },
          },
        ]),
    ...(webhook === null
      ? []
      : [{ name: 'webhook' as const, send: (message: AlertMessage) => post(webhook, message, patienceMs) }]),
  ];
}

async function post(webhook: string, { text, body }: AlertMessage, patienceMs: number): Promise<void> {
  // The operator chose this host, which may lie in a private network; a redirect leads nowhere else.
  const fetch = makeGuardedFetch({ ownIssuer: null, allowed: [hostOf(webhook)] });
  const response = await fetch(webhook, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    // Chat programs show the member `text`.
    body: JSON.stringify({ text, ...body }),
    signal: AbortSignal.timeout(patienceMs),
  });
  await response.body?.cancel();
  // The address may hold a secret, so that the error does not name it.
  if (!response.ok) throw new Error(`The webhook answered ${response.status}.`);
}

function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[|\]$/g, '');
}

/** The name of the platform in messages: the host of its public address. */
export function platformName({ publicUrl, port }: Pick<Settings, 'publicUrl' | 'port'>): string {
  return publicUrl?.hostname ?? `localhost:${port}`;
}

/** Sends a test on every channel, and returns what became of each. Never rejects. */
export async function sendTest(
  channels: readonly AlertChannel[],
  platform: string,
): Promise<readonly TestedChannel[]> {
  const message = {
    subject: `[${platform}] Test of alerts`,
    text: `This is a test: alerts of the platform ${platform} arrive here.`,
    body: { platform, kind: 'test', began: [], ended: [] },
  };
  return Promise.all(
    channels.map(async ({ name, send }) => {
      const failure = await send(message).then(() => null, sentenceOf);
      return { channel: name, sent: failure === null, detail: failure };
    }),
  );
}

/**
 * Sends a message to every channel of the settings; the platform need not run. Returns the lines to show.
 * @throws SettingsError when the settings name no channel, or one fails.
 */
export async function testAlerts(args: readonly string[], settings: Settings): Promise<readonly string[]> {
  if (args.length > 0) throw new SettingsError(`This cannot be done so. Usage: ${ALERTS_TEST_USAGE}`);
  if (settings.mail === null && settings.alerts.mail.length > 0)
    throw new SettingsError('FREEHOLD_SMTP_URL is missing: without it no alert is mailed.');
  const mail = openMail(settings, Date.now);
  const channels = openChannels(settings.alerts, mail.mailer);
  if (channels.length === 0)
    throw new SettingsError(
      'There is no place for alerts: set FREEHOLD_ALERT_MAIL or FREEHOLD_ALERT_WEBHOOK.',
    );
  try {
    const tested = await sendTest(channels, platformName(settings));
    const lines = tested.map(({ channel, detail }) =>
      detail === null ? `Sent by ${channel}.` : `Not sent by ${channel}: ${detail}`,
    );
    if (tested.some(({ sent }) => !sent)) throw new SettingsError(lines.join('\n'));
    return lines;
  } finally {
    mail.close();
  }
}

/** Why a message was not sent, without an address: a connection that fails says why in its cause. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return 'it failed.';
  if (error.name === 'TimeoutError') return 'it did not answer in time.';
  const code = (error.cause as { code?: unknown } | undefined)?.code;
  if (typeof code === 'string') return `it cannot be reached (${code}).`;
  return error.message;
}
