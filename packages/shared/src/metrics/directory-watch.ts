/**
 * Watches what the operator has configured, to create its series before anything has happened. Prometheus takes the first
 * value of a series for its start. So the first increment of a series that did not exist before would be lost.
 */
import type { Directory, RouteRecord, WorkspaceRecord } from '../directory/directory.js';

export type KnownWorkspaces = readonly (WorkspaceRecord & { routes: ReadonlyMap<string, RouteRecord> })[];

export class DirectoryWatch {
  #version: string | undefined;

  constructor(
    private readonly directory: Directory,
    private readonly onChange: (directory: KnownWorkspaces) => void | Promise<void>,
  ) {}

  /** Costs one small command, or none if the caller knows the version, unless something has changed. */
  async refresh(known?: string): Promise<void> {
    const version = known ?? (await this.directory.version());
    if (version === this.#version) return;
    const workspaces = await this.directory.listWorkspaces();
    await this.onChange(
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
