/** `GET /api/model-usage`: the language model of an instance and its tokens, for those who manage its members. */
import { PlatformError } from '@freehold/contracts';
import type { Hono } from 'hono';
import type { z } from 'zod';
import type { AppContext, AppEnv, Services } from '../declaration/env.ts';
import { MODEL_SERVICE } from '../declaration/supplied.ts';
import { modelOperations } from '../model-accounting/operations.ts';
import { requireNode, requirePermission } from '../request/caller.ts';
import { mountRoutes } from '../request/routes.ts';
import type { modelUsageResponse } from '../wire/wire.ts';
import { type ModelSettings, readModelSettings } from './model-settings.ts';

export function mountModelUsage(app: Hono<AppEnv>, services: Services): void {
  if (services.app.models !== true) return;
  mountRoutes(app, [
    { method: 'GET', path: '/api/model-usage', answer: async (c) => c.json(await usageOf(services, c)) },
  ]);
}

/** The model and the tokens of this month. @throws PlatformError `permission_denied` */
export async function usageOf(
  services: Services,
  c: AppContext,
): Promise<z.input<typeof modelUsageResponse>> {
  await requirePermission(services, c, 'member.manage');
  const { settings } = await services.signIn(c);
  const model = settingsOrProblem(settings, c);
  const isThere = typeof model !== 'string';
  const { access = 'all', tokensMonthly = null } = isThere ? model : {};
  const { output } = await services.host
    .operations(requireNode(c).scope, `service:${MODEL_SERVICE}`)
    .invoke({ operation: 'model/usage', input: { access, tokensMonthly } });
  const { month, tokens, limit, refused } = modelOperations['model/usage'].output.parse(output);
  return isThere
    ? { model: model.spec, problem: null, access: model.access, month, tokens, limit, refused }
    : { model: null, problem: model, access: null, month, tokens, limit: null, refused: null };
}

/** The settings of the model, or the sentence that says what is missing and who sets it. */
function settingsOrProblem(
  settings: Readonly<Record<string, string>>,
  c: AppContext,
): ModelSettings | string {
  try {
    return readModelSettings(settings, c.env);
  } catch (error) {
    if (error instanceof PlatformError && error.reason === 'model_not_configured') return error.message;
    throw error;
  }
}
