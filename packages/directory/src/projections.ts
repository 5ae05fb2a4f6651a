/** The projections of the directory: what scopes have to hear of. */
import { entitlementProjection } from './entitlements/projection.ts';
import { defineFeature } from './lib/feature.ts';
import { outboxMethods } from './projector/outbox.ts';
import { roleProjection } from './roles/projection.ts';

export const projections = { roles: roleProjection, entitlements: entitlementProjection } as const;

export const projectionsFeature = defineFeature({
  methods: (context) => outboxMethods(context, projections),
});
