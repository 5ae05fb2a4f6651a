/** The bundle of a deployment, by an entry of its own: it loads neither the development server nor the runtime. */
export { bundleProject, type ProjectBundle } from './bundle-project.ts';
