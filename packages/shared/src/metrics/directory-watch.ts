/**
 * What the operator has configured, for the series that are to exist before anything has happened: Prometheus takes a
 * series' first value for its start, so the first increment of one that was not there before is lost.
 */
import type { Directory, RouteRecord, WorkspaceRecord } from '../directory/directory.js';

export type KnownWorkspaces = readonly (WorkspaceRecord & { routes: ReadonlyMap<string, RouteRecord> })[];

export class DirectoryWatch {
  #version: string | undefined;

  constructor(
    private readonly directory: Directory,
    private readonly onChange: (directory: KnownWorkspaces) => void,
  ) {}

  /** One small question, unless something has changed. */
  async refresh(): Promise<void> {
    const version = await this.directory.version();
    if (version === this.#version) return;
    const workspaces = await this.directory.listWorkspaces();
    this.onChange(
      await Promise.all(
        workspaces.map(async (workspace) => ({
          ...workspace,
          routes: await this.directory.listRoutes(workspace.id),
        })),
      ),
    );
    this.#version = version;
  }
}
