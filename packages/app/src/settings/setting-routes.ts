/** `GET /api/settings`: what an instance is set to, and where each value is from, for those who manage its members. */
import { RETENTION_SETTING } from '@freehold/kernel';
import type { Hono } from 'hono';
import type { z } from 'zod';
import type { AppContext, AppEnv, Services } from '../declaration/env.ts';
import { directoryOf, requireNode, requirePermission, scopeOf } from '../request/caller.ts';
import { mountRoutes } from '../request/routes.ts';
import type { SettingRecord, settingsResponse } from '../wire/wire.ts';

export function mountSettings(app: Hono<AppEnv>, services: Services): void {
  mountRoutes(app, [
    { method: 'GET', path: '/api/settings', answer: async (c) => c.json(await settingsOf(services, c)) },
  ]);
}

/** The settings and where each value is from. @throws PlatformError `permission_denied` */
export async function settingsOf(
  services: Services,
  c: AppContext,
): Promise<z.input<typeof settingsResponse>> {
  await requirePermission(services, c, 'member.manage');
  const { scope: scopeId } = requireNode(c);
  const [delivered, { settings }, { historyDays, denialsDays }] = await Promise.all([
    directoryOf(services, c).getConfig({ scopeId }),
    services.signIn(c),
    scopeOf(services, c).retention({}),
  ]);
  const items = Object.entries(services.manifest.env).map(
    ([key, { summary, secret = false }]): SettingRecord => {
      const value = settings[key];
      const from =
        value === undefined
          ? 'none'
          : Object.hasOwn(delivered, key)
            ? 'delivered'
            : typeof c.env[key] === 'string'
              ? 'platform'
              : 'default';
      return { key, summary, secret, from, value: secret ? null : (value ?? null) };
    },
  );
  const isForGood = historyDays === null && denialsDays === null;
  const from = Object.hasOwn(delivered, RETENTION_SETTING) ? 'delivered' : isForGood ? 'none' : 'default';
  return { items, retention: { historyDays, denialsDays, from } };
}
