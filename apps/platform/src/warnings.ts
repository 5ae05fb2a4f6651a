/** Settings that can be used, and are most likely not what was meant. */
import { makeAddressList } from './settings/address-list.ts';
import type { Settings } from './settings/settings.ts';

/** What an operator should know about the settings, one sentence each, for the start log. */
export function warningsOf(settings: Settings): readonly string[] {
  const { publicUrl, trustedProxies, strayNames } = settings;
  return [
    ...strayNames.map((name) => `${name} is no setting of the platform: docs/settings.md lists them.`),
    ...(publicUrl !== null && trustedProxies.length === 0
      ? [
          'FREEHOLD_PUBLIC_URL is set and FREEHOLD_TRUSTED_PROXIES is not: behind a proxy everybody has its address, and limits meant for one person lock out all.',
        ]
      : []),
    ...(keepsMail(settings) && !isOutboxReadable(settings)
      ? [
          'FREEHOLD_TRUSTED_PROXIES names this machine, so that nobody can be known to sit at it, and the outbox is closed: set FREEHOLD_SMTP_URL to read mail elsewhere.',
        ]
      : []),
  ];
}

function keepsMail({ mail, production }: Settings): boolean {
  return mail === null && !production;
}

/** Whether somebody on this machine can be told from what a proxy on it sends on. */
export function isOutboxReadable({ trustedProxies }: Settings): boolean {
  return !makeAddressList(trustedProxies)('127.0.0.1');
}
