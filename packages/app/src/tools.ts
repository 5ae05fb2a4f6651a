/** The tools of an application's own routes. */
import { requireSameOrigin } from '@freehold/contracts/http';
import type { AppTools } from './declaration/app.ts';
import type { Services } from './declaration/env.ts';
import { governedModel } from './models/governed-model.ts';
import { readModelSettings } from './models/model-settings.ts';
import { authenticatedPrincipal, requireNode, requirePermission, scopeOf } from './request/caller.ts';
import { invokeAsCaller } from './request/records.ts';
import { readBody } from './request/routes.ts';

export function appTools(services: Services): AppTools {
  const { app, deps, manifest } = services;
  const settings: AppTools['settings'] = async (c) => (await services.signIn(c)).settings;
  return {
    instance: requireNode,
    principal: (c) => authenticatedPrincipal(services, c),
    require: (c, permission) => requirePermission(services, c, permission),
    invoke: (c, operation, input) => invokeAsCaller(services, c, operation, input),
    scope: (c) => scopeOf(services, c),
    settings,
    body: (c, schema) => {
      requireSameOrigin(c.req.raw.headers, requireNode(c).origin);
      return readBody(c, schema);
    },
    model: async (c, purpose) => {
      if (app.models !== true)
        throw new TypeError('app.models: must be true for an application that asks a language model');
      return governedModel(services, c, readModelSettings(await settings(c), c.env), purpose);
    },
    incident: (c, error, method) =>
      deps.onIncident(error, { kind: manifest.slug, key: requireNode(c).scope, method }),
  };
}
