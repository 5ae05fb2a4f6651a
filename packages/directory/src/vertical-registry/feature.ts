/** What the directory's unit has of verticals, their versions and channels. */
import { defineFeature } from '../lib/feature.ts';
import { planPromotion, promoteVersion, readChannels } from './channels.ts';
import { deployVersion } from './deploy.ts';
import { deleteInstallBlock, putInstallBlock, readInstallBlock } from './install-blocks.ts';
import { readInstances } from './instances.ts';
import { putListing, readListing, requestPublish } from './listing.ts';
import { createVertical, readVertical, readVerticals, updateVerticalName } from './operations.ts';
import { registryMigrations } from './schema.ts';
import { readScopeVersion } from './scope-version.ts';
import { registryMethods } from './unit-methods.ts';
import { admitVersion, readVersion, readVersions, registerVersion, rejectVersion } from './versions.ts';

export const verticalRegistryFeature = defineFeature({
  operations: [
    readScopeVersion,
    readVerticals,
    readVertical,
    readInstances,
    readVersions,
    readVersion,
    readChannels,
    readListing,
    readInstallBlock,
    createVertical,
    updateVerticalName,
    registerVersion,
    admitVersion,
    rejectVersion,
    putListing,
    requestPublish,
    putInstallBlock,
    deleteInstallBlock,
    promoteVersion,
    deployVersion,
    planPromotion,
  ],
  migrations: [registryMigrations],
  methods: registryMethods,
  queries: [
    'registryVertical',
    'registeredVertical',
    'deployedVersions',
    'plannedBinding',
    'versionedRoute',
    'versionedRoutes',
    'servingVersion',
  ],
});
