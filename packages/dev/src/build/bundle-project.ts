/** The deployment of a builder's folder: its declaration, and the files of its bundle. */
import {
  type BundledModule,
  bundleApp,
  type DeclaredMigration,
  declarationOf,
} from '@freehold/app/worker/bundle';
import type { VerticalManifest } from '@freehold/contracts';
import { DevError } from '../lib/dev-error.ts';
import { readProject, requireOneCopy } from '../project/project.ts';
import { withLoaded } from './load-project.ts';

export interface ProjectBundle {
  readonly manifest: VerticalManifest;
  readonly migrations: readonly DeclaredMigration[];
  /** The hosts that it means to call. */
  readonly egress: readonly string[];
  readonly modules: readonly BundledModule[];
}

/**
 * Bundles the application in a folder for deployment.
 * @throws DevError for a folder without an application, and for one whose source cannot be bundled or loaded.
 */
export async function bundleProject(folder: string): Promise<ProjectBundle> {
  const project = readProject(folder);
  requireOneCopy(project);
  return withLoaded(project, async ({ app, webFilesOf }) => {
    const webFiles = webFilesOf(app, project.root);
    if (typeof app.web === 'string' && !webFiles)
      throw new DevError(
        'validation_failed',
        `The pages in ${app.web} are not built: run the command that builds them (npm run build), and deploy again.`,
      );
    const { manifest, migrations, egress } = declarationOf(app);
    const modules = await bundleApp({ root: project.root, entry: project.entry, webFiles });
    return { manifest, migrations, egress, modules };
  });
}
